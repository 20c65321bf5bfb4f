"""The next steps of each task in words, for people who ask for a hint: what to look at and which commands help.

No step says a whole solution. Those of the tests are in `tests/engine/terminal/solutions.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

TIPS: Mapping[str, Sequence[str]] = {
    "count-errors": (
        "Look at the log first: head shows where the level stands in a line.",
        "grep -c counts lines that match. Put spaces around ERROR, so that the word in a message does not count.",
        "Write the number into answer.txt with >, and hand in.",
    ),
    "sort-names": (
        "Look at names.txt: some names stand there more than once.",
        "sort has an option for the reverse order and one for each line once.",
        "Write the result into sorted.txt with >, so that names.txt stays as it is.",
    ),
    "tidy-inbox": (
        "ls inbox shows what there is. Make the three folders beside inbox with mkdir.",
        "mv takes a pattern: inbox/*.txt are all files that end in .txt.",
        "Look into inbox again: only README is to be left.",
    ),
    "make-it-run": (
        "Read the first line of tools/greet with head -n 1: it names the program that runs the script.",
        "That program does not exist. Mend the first line, for example with sed -i or by writing the file again.",
        "A file is started only if it may be: chmod sets that. Nobody but its owner may write to it.",
    ),
    "unpack-backup": (
        "tar tzf backup.tar.gz lists what is inside, with its folders.",
        "Make the folder restored. tar takes -C for the folder to unpack into.",
        "--strip-components=N leaves N folders of each path out.",
    ),
    "sum-orders": (
        "head orders.csv shows the columns. Only orders that are paid count.",
        "awk -F, adds up by customer in an array, and prints the array at the END; Python's csv module does too.",
        "Sort by the total, the largest first, and put the heading before it.",
    ),
    "read-access-log": (
        "head var/access.log shows the fields. The address is the first.",
        "cut or awk takes the addresses; sort and uniq -c count them; sort -nr brings the most frequent to the top.",
        "For broken.txt match the status behind the closing quotation mark: it has three digits and begins with a 5.",
    ),
    "close-the-site": (
        "find site -type d and find site -type f list what has to get a mode. Some folders cannot be entered at first.",
        "Set the folders first (find ... -exec chmod), site/keys apart from the others.",
        "Then set the files by their endings: .key, .sh and .html have different modes.",
    ),
    "rename-photos": (
        "ls photos shows three spellings of the ending, and names with a space. Quote every name.",
        "In a loop, ${name#IMG } takes the beginning away, and ${name%.*} the ending.",
        "printf with %04d writes a number with four digits.",
    ),
    "remove-copies": (
        "sha256sum prints the same digest for equal contents.",
        "Sort the paths with LC_ALL=C sort before, so that the first of each content is the one to keep.",
        "awk 'seen[$1]++' passes every line but the first of each digest; delete those files.",
    ),
    "mend-median": (
        "Read median.py, and run it on example.txt to see what it says.",
        "The lines are texts: they have to become numbers, and empty lines are to be left out.",
        "With an even number of values, the two in the middle are at half the length, and one place before it.",
    ),
    "mend-package": (
        "Run python3 -m spans 1h30m 45m, and read spans/parse.py and spans/show.py.",
        "Check how many seconds each unit has, and that the whole text is a duration (re.fullmatch), else ValueError.",
        "show never takes away what it has written already (divmod does), and writes nothing for zero.",
    ),
    "mend-script": (
        "Read build.sh. Words that come from variables are split at spaces unless they stand in quotation marks.",
        "find -print0 with while IFS= read -r -d '' goes through names of any kind; -name needs its pattern quoted.",
        "End with an error if the folder is not there, and begin the list anew, also when there is nothing to list.",
    ),
    "merge-settings": (
        "Read the files in settings in the order of their names; Python's json and glob modules do.",
        "Later values replace earlier ones, but the object limits is merged entry by entry.",
        "Take out what is null in the end, and write with sort_keys=True.",
    ),
    "join-parts": (
        "manifest.txt has a digest for each number: find the part with that digest by sha256sum.",
        "Put the parts together in the order of the manifest, with cat. Those that are not in it do not belong.",
        "What comes out is one gzip file: unpack it into people.csv.",
    ),
    "write-rotation": (
        "Check the arguments first: DIR has to be a directory, and N a number; end with another exit code otherwise.",
        "ls -t puts what was changed last first; tail -n +K goes on from line K.",
        "Pack with gzip, quote the names, and do nothing if there is no .log; make the script executable.",
    ),
}
"""Task to its steps."""
