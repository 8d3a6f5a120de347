// This file lists the opcodes of pickles that do more than build plain data.
#pragma once

namespace trainyard {

/// Returns the name in Python's pickletools of an opcode that would call, import or build
/// something, or make a set; null for every other byte.
const char* refused_opcode(unsigned char);

}  // namespace trainyard
