#!/usr/bin/env bats
# SPDX-License-Identifier: MIT
# The manual and the READMEs as a website: meson compile docs.

load helper

# Prints the pages that man/meson.build lists, in the form that the site's script expects.
pages() {
    sed -nE "s/^ *(man_pages \+= )?'([a-z-]+\.[0-9])',?$/\2/p" "$top/man/meson.build"
}

# make_site ROOT FOLDER
make_site() {
    # shellcheck disable=SC2046 # names
    run --separate-stderr /usr/bin/python3 "$top/man/site.py" "$1" "$2" $(pages)
}

# copy_texts: copies the sources of the site to the directory sources.
copy_texts() {
    mkdir -p sources/src sources/tests/bench
    cp -r "$top"/{README.md,CHANGELOG.md,LICENSE,man} sources
    cp "$top"/src/{README,DESIGN}.md sources/src
    cp "$top/tests/bench/ratios.svg" sources/tests/bench
}

@test "docs: the site has each manual page and README, with pictures, lists, examples and tables; each page links to all" {
    local page
    [ "$(pages | wc -l)" -eq "$(find "$top/man" -name '*.scd' | wc -l)" ]
    make_site "$top" site
    [ "$status" -eq 0 ] && [ -z "$output$stderr" ]
    for page in $(pages) readme code design changes index; do
        grep -q '<h1>' "site/$page.html"
        grep -q "href=\"$page.html\"" site/mpiio-view.1.html
        run -1 grep -nE '(src|<link [^>]*href)="(https?:)?//' "site/$page.html"
    done
    cmp site/ratios.svg "$top/tests/bench/ratios.svg"
    grep -q 'src="ratios.svg"' site/readme.html
    # A reference to another page is a link, and headings can be linked to.
    grep -q '<a href="viewspec.5.html"><b>viewspec</b>(5)</a>' site/mpiio-mount.1.html
    grep -q '<a href="mpiio-run.1.html">mpiio-run(1)</a>' site/readme.html
    grep -q 'href="#DATA_REPRESENTATIONS"' site/viewspec.5.html
    grep -q '<a href="code.html">' site/readme.html
    run -1 grep -n '&#x2022;' site/*.html
    grep -q '^<li><i>tile</i>: the data' site/mpiio-view.1.html
    # Lines of an example that begin with blanks have no break before them; commands are examples.
    run -1 grep -nPz '<pre>(?:(?!</pre>)[\s\S])*<br/>' site/*.html
    grep -qxF '<pre>$ mpiio-view check field.json' site/mpiio-view.1.html
    run -1 grep -nE '<table [^>]*(border|style)|<td style' site/*.html
    grep -q '<th>In the figure</th>' site/mpiio-view.1.html
    grep -q '<b class="option">--fields</b>' site/mpiio-view.1.html
    # The contents of a page have the sections of the second level, too.
    grep -q '<li class="level3"><a href="#Fix_one_value_in_place">' site/mpiio-cookbook.7.html
}

@test "docs: a broken link is reported as a failure" {
    copy_texts
    make_site sources site
    [ "$status" -eq 0 ]
    echo '[gone](src/gone.md) [part](#no-such-part) [here](#building) [there](https://example.org/)' >>sources/README.md
    echo '![gone](gone.svg)' >>sources/src/README.md
    make_site sources site
    [ "$status" -eq 1 ]
    diff - <(sort <<<"$stderr") <<LINES
site: README.md: no src/gone.md
site: code.html: no gone.svg
site: readme.html: no #no-such-part
site: readme.html: no src/gone.md
site: src/README.md: no src/gone.svg
LINES
}

@test "docs: meson compile docs makes the site" {
    ninja -C "$MPIIO_BUILD" -t targets all | grep -q '^docs: '
    ninja -C "$MPIIO_BUILD" docs
    [ -s "$MPIIO_BUILD/docs/index.html" ]
}
