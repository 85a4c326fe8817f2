#!/bin/sh
# Make .venv and install the named locks into it: sh tools/venv.sh core build
# It is left as it is when these locks are installed already. PYTHON=... chooses the interpreter.
set -eu
cd "$(dirname "$0")/.."

new_enough='import sys; sys.exit(sys.version_info < (3, 11))'

find_python() {
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14}; do
        if "$candidate" -c "$new_enough" 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

advise() {
    echo "mnemic: $1" >&2
    case "$(uname -s)" in
        Darwin) echo "  brew install python@3.12" >&2 ;;
        *) echo "  Debian, Ubuntu: apt install $2" >&2
           echo "  elsewhere: install Python 3.11 or newer with its venv module" >&2 ;;
    esac
    echo "Then run the command again; PYTHON=/path/to/python chooses another interpreter." >&2
    exit 1
}

if ! .venv/bin/python -m pip --version >/dev/null 2>&1 || ! .venv/bin/python -c "$new_enough"; then
    python=$(find_python)
    [ -n "$python" ] || advise "no Python 3.11 or newer found (looked for ${PYTHON:-python3, python3.11 to python3.14})" "python3 python3-venv"
    "$python" -c 'import ensurepip, venv' 2>/dev/null || advise "$python has no venv module" "$("$python" -c 'import sys; print("python3-venv (or python%d.%d-venv)" % sys.version_info[:2])')"
    echo "Creating .venv with $("$python" --version) ..."
    "$python" -m venv --clear .venv
fi

wanted=
for lock in "$@"; do wanted="$wanted requirements/$lock.txt"; done
stamp=".venv/.installed-$(echo "$*" | tr ' ' -)"
# The project file counts too: it names the command that the install puts into .venv/bin.
if cat $wanted pyproject.toml | cmp -s - "$stamp" 2>/dev/null; then exit 0; fi

echo "Installing$wanted ..."
set --
for lock in $wanted; do set -- "$@" -r "$lock"; done
.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes "$@"
.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --no-index --editable .
cat $wanted pyproject.toml >"$stamp"
