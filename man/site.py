#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a site of the manual, the READMEs and their pictures:  site.py ROOT FOLDER PAGE...

ROOT is the source tree, PAGE the name of a manual page, such as mpiio-view.1. FOLDER gets the site, which
needs no network. Fails where a link of a page leads nowhere.
"""
import html
import html.parser
import os
import re
import shutil
import subprocess
import sys

TEXTS = {  # in the order of the index: their page, what they are for
    "README.md": ("readme.html", "README", "what the mounts are for, a tour, limits, building"),
    "src/README.md": ("code.html", "The map", "the parts of the code, its terms, how to contribute"),
    "src/DESIGN.md": ("design.html", "Design", "the mechanisms, their invariants, and why these hold"),
    "CHANGELOG.md": ("changes.html", "Changes", "the changes in each version"),
}

# In mandoc's HTML, scdoc's lists are indented blocks that begin with a bullet. Its indented commands
# are indented text, and a line of an example that begins with a blank has a break before it.
BULLET = r'<div class="Bd-indent">&#x2022;((?:(?!</?div).)*)</div>\n?'
COMMANDS = r'<div class="Bd-indent">(\$ (?:(?!</?div|<p).)*)</div>'


def run(command, text):
    return subprocess.run(command, input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def slug(heading):
    text = html.unescape(re.sub(r"<[^>]*>", "", heading)).lower()
    return re.sub(r"[^a-z0-9]+", "-", text).strip("-")


def as_list(match):
    items = re.findall(BULLET, match[0], re.S)
    return "<ul>\n" + "".join(f"<li>{item}</li>\n" for item in items) + "</ul>\n"


def as_commands(match):
    lines = (" ".join(line.split()) for line in match[1].split("<br/>"))
    return '<div class="Bd-indent">\n<pre>' + "\n".join(lines) + "</pre>\n</div>"


def as_table(match):
    """Leaves lines and alignment to the style sheet; the first row has the headings."""
    table = re.sub(r' (class|border|style)="[^"]*"', "", match[0])
    head, end, rest = table.partition("</tr>")
    return re.sub(r"(</?)td", r"\1th", head) + end + rest


def tidy(body):
    """Makes lists, examples and plain tables of what scdoc and mandoc write."""
    body = re.sub(r"<pre>.*?</pre>", lambda m: m[0].replace("<br/>\n", ""), body, flags=re.S)
    body = re.sub(f"(?:{BULLET})+", as_list, body, flags=re.S)
    body = re.sub(COMMANDS, as_commands, body, flags=re.S)
    body = re.sub(r'<table class="tbl".*?</table>', as_table, body, flags=re.S)
    return re.sub(r"<b>(-[^<\s]*)</b>", r'<b class="option">\1</b>', body)


class Site:
    def __init__(self, root, folder, pages):
        self.root, self.folder = root, folder
        self.sources = {page: read(root, "man", page + ".scd") for page in pages}
        names = "|".join(re.escape(page.rsplit(".", 1)[0]) for page in pages)
        self.reference = re.compile(rf"(<b>|<em>|<code>)?\b({names})(</b>|</em>|</code>)?\(([0-9])\)")
        self.errors = []

    def refer(self, body, own):
        """Makes links of what names another page of the manual, but not in examples."""
        def link(match):
            page = f"{match[2]}.{match[4]}"
            if page == own or page not in self.sources or bool(match[1]) != bool(match[3]):
                return match[0]
            return f'<a href="{page}.html">{match[0]}</a>'
        parts = re.split(r"(<pre.*?</pre>|<a .*?</a>)", body, flags=re.S)
        return "".join(part if i % 2 else self.reference.sub(link, part) for i, part in enumerate(parts))

    def target(self, source, address):
        """What a link of a Markdown text is on the site; files that are no pages are copied."""
        if address.startswith(("#", "https://", "http://")):
            return address
        path, hash, fragment = address.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(source), path))
        if path in TEXTS:
            return TEXTS[path][0] + hash + fragment
        if not os.path.isfile(os.path.join(self.root, path)):
            self.errors.append(f"{source}: no {path}")
            return address
        shutil.copy(os.path.join(self.root, path), self.folder)
        return os.path.basename(path)

    def text_page(self, source):
        body = run(["cmark-gfm", "--unsafe", "-e", "table"], read(self.root, source))
        body = re.sub(r'(href|src)="([^"]*)"',
                      lambda m: f'{m[1]}="{html.escape(self.target(source, html.unescape(m[2])))}"', body)
        body = re.sub(r"<(h[23])>(.*?)</\1>", lambda m: f'<{m[1]} id="{slug(m[2])}">{m[2]}</{m[1]}>', body)
        body = body.replace("<tr>\n<th></th>\n<th></th>\n</tr>", "")
        return self.refer(body, None)

    def manual_page(self, page):
        body = run(["mandoc", "-T", "html", "-O", "fragment"], run(["scdoc"], self.sources[page]))
        body = re.sub(r'<table class="(head|foot)">.*?</table>', "", body, flags=re.S)
        body = body.replace("<h2", "<h3").replace("</h2>", "</h3>").replace("<h1", "<h2").replace("</h1>", "</h2>")
        name, section = page.rsplit(".", 1)
        return f"<h1>{name}({section})</h1>\n{self.refer(tidy(body), page)}"

    def purpose(self, page):
        return re.search(r"^# NAME\n+.*? - (.*)$", self.sources[page], re.M)[1]

    def entries(self):
        """Address, name and purpose of each page."""
        readme, *others = TEXTS.values()
        yield readme
        for page in sorted(self.sources, key=lambda page: (page.rsplit(".", 1)[1], page)):
            yield page + ".html", "{}({})".format(*page.rsplit(".", 1)), self.purpose(page)
        yield from others

    def index(self):
        items = (f'<dt><a href="{address}">{name}</a></dt><dd>{html.escape(purpose)}</dd>\n'
                 for address, name, purpose in self.entries())
        return "<h1>mpiio-viewfs</h1>\n<p>Mounts the file views of MPI programs.</p>\n<dl>\n" + "".join(items) + "</dl>\n"

    def write(self, address, title, body):
        here = [("index.html", "All pages")] + [(a, n) for a, n, _ in self.entries()]
        pages = "".join(f'<li><a href="{a}"{" aria-current=page" if a == address else ""}>{n}</a></li>\n'
                        for a, n in here)
        parts = "".join(f'<li class="level{level}"><a href="#{id}">{re.sub("<[^>]*>", "", heading)}</a></li>\n'
                        for level, id, heading in
                        re.findall(r'<h([23])[^>]* id="([^"]*)"[^>]*>(.*?)</h\1>', body, re.S))
        contents = f"<details open><summary>On this page</summary><ul>\n{parts}</ul></details>\n" if parts else ""
        body = re.sub(r"<table.*?</table>", lambda m: f'<div class="wide">{m[0]}</div>', body, flags=re.S)
        with open(os.path.join(self.folder, address), "w", encoding="utf-8") as file:
            file.write(f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} - mpiio-viewfs</title>
<link rel="stylesheet" href="site.css">
</head>
<body>
<nav><ul>
{pages}</ul>
{contents}</nav>
<main>
{body}</main>
</body>
</html>
""")

    def make(self):
        shutil.copy(os.path.join(self.root, "man", "site.css"), self.folder)
        self.write("index.html", "Manual", self.index())
        for page in self.sources:
            self.write(page + ".html", page, self.manual_page(page))
        for source, (address, title, _) in TEXTS.items():
            self.write(address, title, self.text_page(source))


class Links(html.parser.HTMLParser):
    """What a page links to and loads, and the places in it that can be linked to."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loaded, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id":
                self.places.add(value)
            elif name in ("href", "src"):
                (self.links if tag == "a" else self.loaded).append(value)


def check(folder):
    """What is wrong with the links of the pages in the folder."""
    pages = {name: Links(read(folder, name)) for name in sorted(os.listdir(folder)) if name.endswith(".html")}
    for name, page in pages.items():
        yield from (f"{name}: needs the network: {link}" for link in page.loaded if "://" in link)
        for link in page.links + page.loaded:
            if "://" in link:
                continue
            path, _, place = link.partition("#")
            path = path or name
            if not os.path.isfile(os.path.join(folder, path)):
                yield f"{name}: no {path}"
            elif place and (path not in pages or place not in pages[path].places):
                yield f"{name}: no {link}"


def main():
    root, folder, *pages = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    site = Site(root, folder, pages)
    site.make()
    wrong = site.errors + list(check(folder))
    for line in wrong:
        print("site:", line, file=sys.stderr)
    sys.exit(1 if wrong else 0)


main()
