// Writes an IntegerNetwork as a program in C99: constants, kernels and one function that runs them
// in the caller's memory. It needs no operating system, no floating point, and of the standard
// library only stddef.h and stdint.h.
#pragma once

#include <string>
#include <vector>

#include "core/microcontroller/integer_network.h"

namespace trainyard {

/// A header and the source that includes it, as "NAME.h"; one after the other they are a single
/// file too.
struct CSource {
  std::string header, source;
};

/// Returns a C identifier of small letters for a model's name: "mlp_small".
std::string c_name(std::string_view model);

/// `name` is the C identifier that begins every name of the program. `about`: lines of the comment
/// at the beginning of both files. Equal networks give equal bytes.
CSource c_source(const IntegerNetwork&, const std::string& name,
                 const std::vector<std::string>& about);

}  // namespace trainyard
