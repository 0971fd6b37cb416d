# shellcheck shell=bash
# What brings the gRPC that is not tonic: Python's, in an environment of its own.
#
# It is kept in a folder of the user's cache, named after what is in it, so that nothing else on the
# machine changes and another version of a package is another folder.

: "${log:?lib.sh is sourced first}"

# Whether there is a Python with the packages of `requirements.txt`, whose path is then in $python;
# says why not.
have_grpcio() {
    local wanted=tests/interop/requirements.txt folder
    if ! command -v python3 >"$log"; then
        skipped "interop with grpcio" "there is no python3"
        return 1
    fi
    # The interpreter is part of what is in it: a newer one needs other builds of the packages.
    folder=$({ python3 --version && cat "$wanted"; } | cksum | tr -c '0-9\n' -)
    folder=${XDG_CACHE_HOME:-$HOME/.cache}/evenkeel/venv-$folder
    python=$folder/bin/python
    # Its name alone does not say that it was finished.
    if [ -e "$folder/whole" ] && "$python" -c "import grpc" >"$log" 2>&1; then return; fi
    echo "   puts grpcio into $folder"
    rm -rf "$folder"
    if ! python3 -m venv "$folder" >"$log" 2>&1; then
        skipped "interop with grpcio" "python3 has no venv: $(tail -n 1 "$log")"
        return 1
    fi
    if ! "$python" -m pip --version >"$log" 2>&1; then
        skipped "interop with grpcio" "python3 has no pip"
        return 1
    fi
    if ! "$python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        --requirement "$wanted" >"$log" 2>&1; then
        skipped "interop with grpcio" "pip cannot fetch it: $(tail -n 1 "$log")"
        return 1
    fi
    touch "$folder/whole"
}
