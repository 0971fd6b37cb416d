# shellcheck shell=bash
# What the parts that run firmware share: the tools, and each image as a check.
#
# QEMU and defmt-print are taken from the path. What is missing is put into a folder of the user's
# cache: QEMU unpacked from Debian's packages, without installing any of them, so that nothing on the
# machine changes and no other QEMU is in the way.

: "${log:?lib.sh is sourced first}" "${tools:?}" "${root:?}"

defmt_print=1.2.0
images=${CARGO_TARGET_DIR:-$PWD/firmware-examples/target}

# Whether the compiler is one that embassy allows, which asks for a newer one than the rest; says so
# if not.
new_enough_for_firmware() {
    local needed there
    needed=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' "$root/adapters/embassy/Cargo.toml")
    there=$(rustc --version | awk '{ print $2 }')
    if printf '%s\n' "$needed" "$there" | sort --version-sort --check=quiet; then return; fi
    skipped firmware "needs Rust $needed, and this is $there"
    return 1
}

# Whether QEMU can be had; says why not.
have_qemu() {
    local program why
    PATH="$tools/bin:$PATH"
    for program in qemu-system-arm qemu-system-riscv32; do
        if "$program" --version >"$log" 2>&1; then continue; fi
        installing "QEMU into $tools" "Debian's packages, unpacked"
        if ! why=$(unpack_qemu 2>&1); then
            skipped QEMU "$(tail -n 1 <<<"$why")"
            return 1
        fi
        if ! "$program" --version >"$log" 2>&1; then
            skipped QEMU "$program was unpacked and does not start: $(tail -n 1 "$log")"
            return 1
        fi
    done
}

unpack_qemu() {
    local list debs=$tools/debs root=$tools/qemu program
    if ! command -v apt-get || ! command -v dpkg; then
        echo "it is not installed, and this is no Debian"
        return 1
    fi
    mkdir -p "$debs" "$root" "$tools/bin"
    # A simulation names the packages that are missing, in whatever way they would be installed.
    list=$(wanted_packages) || { apt-get update && list=$(wanted_packages); } || {
        echo "it is not installed, and apt-get does not find it"
        return 1
    }
    # shellcheck disable=SC2086 # one word for each package
    (cd "$debs" && apt-get download $list) || {
        echo "it is not installed, and apt-get cannot fetch it"
        return 1
    }
    for program in "$debs"/*.deb; do
        dpkg -x "$program" "$root" || return 1
    done
    rm -r "$debs"
    for program in qemu-system-arm qemu-system-riscv32; do
        cat >"$tools/bin/$program" <<END
#!/bin/sh
here=\$(cd "\$(dirname "\$0")/../qemu" && pwd)
for folder in "\$here"/usr/lib/*-linux-gnu "\$here"/lib/*-linux-gnu; do
    LD_LIBRARY_PATH=\$folder:\${LD_LIBRARY_PATH:-}
done
export LD_LIBRARY_PATH
exec "\$here/usr/bin/$program" -L "\$here/usr/share/qemu" "\$@"
END
        chmod +x "$tools/bin/$program"
    done
}

wanted_packages() {
    local list
    list=$(apt-get install -s --no-install-recommends qemu-system-arm qemu-system-misc |
        sed -n 's/^Inst \([^ ]*\) .*/\1/p') || return 1
    [ -n "$list" ] && echo "$list"
}

have_defmt_print() {
    PATH="$tools/bin:$PATH"
    if command -v defmt-print >"$log" 2>&1; then return; fi
    installing "defmt-print $defmt_print into $tools" "cargo install"
    if ! (cd / && cargo install --quiet --debug --locked --root "$tools" "defmt-print@$defmt_print") >"$log" 2>&1; then
        skipped defmt-print "not installed, and cargo cannot build it: $(tail -n 1 "$log")"
        return 1
    fi
}

# Builds an image: package, target, and whatever else cargo is told. Run in firmware-examples.
build_image() {
    local package=$1 target=$2
    shift 2
    cargo build --locked --quiet --release -p "$package" --target "$target" "$@"
}

# Builds the uplink for a board and keeps it under the board's name: all of them are called uplink.
build_uplink() {
    local board=$1 feature=$2 target=$3
    build_image uplink "$target" --features "$feature" &&
        cp "$images/$target/release/uplink" "$images/uplink-$board"
}

# Runs the uplink of a board against the host that misbehaves.
run_uplink() {
    local board=$1 seed=$2
    timeout -k 2 90 "$images/debug/host" "$board" "$images/uplink-$board" "$seed"
}

# Runs an image without a network twice; the same image prints the same bytes.
twice_the_same() {
    local image=$1 first second
    first=$(./qemu "$image") || return
    second=$(./qemu "$image") || return
    echo "$first"
    [ -n "$first" ] && [ "$first" = "$second" ]
}

# Counts instructions, and compares them with `costs.limits`.
cheap_enough() {
    local image=$1 counts name count limit status=0
    counts=$(ICOUNT=shift=0,sleep=off ./qemu "$image") || return
    while read -r name limit; do
        count=$(awk -v name="$name" '$1 == name { print $2 }' <<<"$counts")
        printf '%6d of %d instructions  %s\n' "${count:-0}" "$limit" "$name"
        if [ -z "$count" ] || [ "$count" -eq 0 ] || [ "$count" -gt "$limit" ]; then status=1; fi
    done < <(grep '^[a-z]' costs.limits)
    [ "$status" -eq 0 ] || echo "firmware-examples/costs.limits allows no more"
    return "$status"
}

# Names the panics in an image, all but that of a future which is polled again after its end: the
# compiler writes it into every `async fn`, and no executor does so. Fails when there is any.
no_other_panic() {
    local image=$1 nm found
    nm=$(host_tool nm) || return
    found=$("$nm" -C "$image" | grep -oE 'core::(panicking|slice|option|result|cell)::.*' |
        grep -E 'panic|_fail|unwrap_failed' |
        grep -vE 'panicking::(panic_fmt|panic_const::panic_const_async_fn_resumed)')
    echo "$found"
    # An image without any name would have no panic either.
    [ -z "$found" ] && "$nm" -C "$image" | grep panic_const_async_fn_resumed
}

# A panic that was put in must be found.
notices_a_panic() {
    build_image no_panic thumbv6m-none-eabi --features control || return
    ! no_other_panic "$1"
}

# One of LLVM's programs: the toolchain's own, or one on the path.
host_tool() {
    local host
    host=$(rustc -vV | sed -n 's/^host: //p')
    command -v "$(rustc --print sysroot)/lib/rustlib/$host/bin/llvm-$1" ||
        command -v "llvm-$1" || command -v "$1"
}

# Compares the images with `sizes.limits`.
small_enough() {
    local size name path flash ram text data bss status=0
    size=$(host_tool size) || return
    while read -r name flash ram; do
        path=$images/$name
        [ -e "$path" ] || path=$images/thumbv6m-none-eabi/release/$name
        read -r text data bss _ < <("$size" "$path" | tail -n 1)
        printf '%6d of %d bytes of flash, %5d of %d of static RAM  %s\n' \
            $((text + data)) "$flash" $((data + bss)) "$ram" "$name"
        if [ $((text + data)) -gt "$flash" ] || [ $((data + bss)) -gt "$ram" ]; then status=1; fi
    done < <(grep '^[a-z]' sizes.limits)
    [ "$status" -eq 0 ] || echo "firmware-examples/sizes.limits allows no more"
    return "$status"
}

# Every uplink that can be built here, as `BOARD FEATURE TARGET`.
uplinks=(
    "an386 mps2 thumbv7m-none-eabi"
    "an385 mps2 thumbv6m-none-eabi"
    "lm3s lm3s thumbv7m-none-eabi"
    "virt virt riscv32imac-unknown-none-elf"
)

# Builds the uplinks and the host, and runs each with these seeds. Run in firmware-examples.
check_uplinks() {
    local board feature target seed uplink
    check "the host builds" cargo build --locked --quiet -p host || return
    for uplink in "${uplinks[@]}"; do
        read -r board feature target <<<"$uplink"
        have_target "$target" || continue
        check "the uplink builds for $board" build_uplink "$board" "$feature" "$target" || continue
        for seed in "$@"; do
            check "the uplink on $board keeps its script, and loses nothing (seed $seed)" \
                run_uplink "$board" "$seed"
        done
    done
}
