"""One way to solve each task: the commands. The first has the name that the instruction gives, as `{service}`."""

from __future__ import annotations

TRIM_MEDIAN = """python3 - <<'END'
text = open("median.py").read()
text = text.replace("(ordered[middle] + ordered[middle + 1])", "(ordered[middle - 1] + ordered[middle])")
text = text.replace("[line for line in sys.stdin]", "[float(line) for line in sys.stdin if line.strip()]")
open("median.py", "w").write(text)
END"""

MEND_PARSE = r"""cat >spans/parse.py <<'END'
import re

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    if not re.fullmatch(r"(\d+[smhd])+", text):
        raise ValueError(f"{text!r} is no duration")
    return sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)([smhd])", text))
END"""
MEND_SHOW = """python3 - <<'END'
text = open("spans/show.py").read()
text = text.replace("        count = total // size\\n", "        count, total = divmod(total, size)\\n")
text = text.replace('"".join(parts)', '"".join(parts) or "0s"')
open("spans/show.py", "w").write(text)
END"""

BUILD = """cat >build.sh <<'END'
#!/bin/bash
set -euo pipefail
dir=$1
out=$2
[ -d "$dir" ] || { echo "no folder $dir" >&2; exit 1; }
: >"$out"
find "$dir" -name '*.txt' -print0 | while IFS= read -r -d '' f; do
  echo "$(wc -l <"$f") $f" >>"$out"
done
END"""

MERGE = """python3 - <<'END'
import glob, json
whole = {}
for name in sorted(glob.glob("settings/*.json")):
    layer = json.load(open(name))
    limits = {**whole.get("limits", {}), **layer.pop("limits", {})}
    whole.update(layer)
    whole["limits"] = limits
whole = {name: value for name, value in whole.items() if value is not None}
json.dump(whole, open("effective.json", "w"), sort_keys=True)
END"""

JOIN = """while read -r number digest; do
  for part in parts/*; do
    [ "$(sha256sum <"$part" | cut -d' ' -f1)" = "$digest" ] && cat "$part"
  done
done <manifest.txt | gzip -d >people.csv"""

ROTATE = """cat >rotate.sh <<'END'
#!/bin/bash
[ -d "$1" ] && [[ $2 =~ ^[0-9]+$ ]] || { echo "rotate.sh DIR N" >&2; exit 2; }
cd "$1" || exit 2
shopt -s nullglob
logs=(*.log)
[ ${#logs[@]} -gt 0 ] || exit 0
ls -t -- "${logs[@]}" | tail -n +$(($2 + 1)) | while IFS= read -r f; do gzip -- "$f"; done
END
chmod +x rotate.sh"""

TOP = "cut -d' ' -f1 var/access.log | sort | uniq -c | sort -k1,1nr -k2 | head -3 | awk '{print $2, $1}' >top.txt"
TOTALS = (
    '(echo customer,total; awk -F, \'NR > 1 {t[$2] += ($4 == "paid") * $3} '
    'END {for (c in t) printf "%s,%.2f\\n", c, t[c]}\' orders.csv | sort -t, -k2,2nr) >totals.csv'
)

SOLUTIONS: dict[str, list[str]] = {
    "count-errors": ["grep -c ' ERROR ' logs/{service}.log >answer.txt"],
    "sort-names": ["sort -ru names.txt >sorted.txt"],
    "tidy-inbox": [
        "mkdir notes tables pictures",
        "mv inbox/*.txt notes; mv inbox/*.csv tables; mv inbox/*.png pictures",
    ],
    "make-it-run": ["cat tools/greet", "sed -i '1s,.*,#!/bin/sh,' tools/greet", "chmod 755 tools/greet"],
    "unpack-backup": ["mkdir restored", "tar xzf backup.tar.gz -C restored --strip-components=2"],
    "sum-orders": [TOTALS],
    "read-access-log": [TOP, "grep -Ec '\" 5[0-9][0-9] ' var/access.log >broken.txt"],
    "close-the-site": [
        "chmod -R u+rwX site; find site -type d -exec chmod 755 {} +; chmod 700 site/keys",
        "chmod 600 site/keys/*.key; chmod 755 site/bin/*.sh; chmod 644 site/pages/*.html",
    ],
    "rename-photos": [
        'cd photos; for f in IMG*; do n=${f#IMG }; n=${n%.*}; mv "$f" "$(printf "photo-%04d.jpg" "$n")"; done'
    ],
    "remove-copies": [
        "find data -type f | LC_ALL=C sort | xargs -d '\\n' sha256sum | awk 'seen[$1]++ {print $2}' | xargs rm"
    ],
    "mend-median": ["cat median.py", TRIM_MEDIAN],
    "mend-package": [MEND_PARSE, MEND_SHOW],
    "mend-script": [BUILD],
    "merge-settings": [MERGE],
    "join-parts": [JOIN],
    "write-rotation": [ROTATE],
}
