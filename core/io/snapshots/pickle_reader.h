// Pickled data, read without running anything: of Python's pickle machine only the opcodes that
// build numbers, texts, lists, tuples and dictionaries exist here. Every opcode that names a class
// or calls one (GLOBAL, REDUCE, BUILD, ...) is refused by its name and place.
//
// What is built may be folded: when a list or dictionary has got its items, the caller may keep
// what it needs of them and let them go, so that gigabytes of events cost only what is kept.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/io/bytes/byte_source.h"
#include "core/io/snapshots/pickle_value.h"

namespace trainyard {

/// What was built. Containers may hold each other in circles: follow names, never "all of it".
struct Pickle {
  PickleValue root;
  std::vector<std::string> texts;
  std::vector<std::vector<PickleValue>> containers;

  /// The text, or "" for another kind.
  std::string_view text(const PickleValue&) const;
  /// The items of a list, tuple or dictionary; empty for another kind.
  std::span<const PickleValue> items(const PickleValue&) const;
  /// The value of a dictionary's key, null where there is none.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

struct PickleOptions {
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // of the file, [0, 1]
  /// Asked once for each list or dictionary that gets its first items; true: `folded` becomes it
  /// and the items are forgotten.
  std::function<bool(Pickle&, PickleValue::Kind, std::span<const PickleValue> items,
                     std::uint64_t& folded)>
      fold = {};
  Bytes limit = 8_GiB;  // of what is kept; refused beyond
};

/// Protocols 0 to 5 as far as they are data. Blocks. Throws Error{InvalidInput} at "SOURCE (byte
/// N)": an opcode that is not data, a stack that does not hold what it takes, a file that ends
/// early; Error{Cancelled} when stopped.
Pickle read_pickle(ByteSource&, const std::string& source, const PickleOptions& = {});
Pickle parse_pickle(std::string_view bytes, const std::string& source, const PickleOptions& = {});

}  // namespace trainyard
