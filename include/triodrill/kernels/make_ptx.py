#!/usr/bin/env python3
"""Makes burn_ptx.h and hang_ptx.h anew, with clang 14's back end for NVIDIA GPUs: no CUDA toolkit is needed.

The text is for sm_80; a driver compiles it for whatever newer GPU it finds. Run it after burn.cu, hang.cu or layout.h
has changed, and commit what it writes: tests/unit/kernels holds the two against each other.
"""

import pathlib
import subprocess

HERE = pathlib.Path(__file__).parent
CLANG = ["clang++-14", "-x", "cuda", "--cuda-device-only", "--cuda-gpu-arch=sm_80", "-nocudainc", "-nocudalib",
         "-std=c++20", "-O2", "-Wno-unknown-cuda-version", "-I" + str(HERE.parent.parent), "-S", "-o", "-"]
HEADER = """// The text of {name}.cu. Made by make_ptx.py; do not edit.
#pragma once

namespace triodrill::kernels {{

inline constexpr char {constant}[] = R"ptx({text})ptx";

}}  // namespace triodrill::kernels
"""

for name, constant in (("burn", "kBurnPtx"), ("hang", "kHangPtx")):
    made = subprocess.run(CLANG + [str(HERE / (name + ".cu"))], check=True, capture_output=True, text=True)
    header = HEADER.format(name=name, constant=constant, text=made.stdout)
    (HERE / (name + "_ptx.h")).write_text(header, encoding="utf-8")
