from pathlib import Path
import sys
from bench.engine import peers, steps
folder = Path("/tmp/peers")
python = folder / "bin/python"
print(peers.word_lists(python, folder))
ws = {"ours": peers.Worker("ours", Path(sys.executable), folder)}
ws |= {n: peers.Worker(n, python, folder) for n in ["gem_llm"] + (["text_arena"] if "-t" in sys.argv else [])}
fams = [a for a in sys.argv[1:] if a[0] != "-"] or None
for f in fams or steps.TARGETS:
    for row in steps.measure(ws, 31, [f]):
        print(f"{row.env_id:30} ours {row.median('ours'):6.2f}  GEM {row.median('gem_llm'):6.2f}  ratio {row.ratio:5.2f}  to reach {row.target} ", "" if row.ratio >= row.target else "MISSED", row.median('text_arena'), row.errors, flush=True)
