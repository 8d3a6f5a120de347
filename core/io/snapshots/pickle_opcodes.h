// The opcodes of pickles that are more than data.
#pragma once

namespace trainyard {

/// The name in Python's pickletools of an opcode that would call, import or build something, or
/// make a set; null for every other byte.
const char* refused_opcode(unsigned char);

}  // namespace trainyard
