// This file reads pickled data without running anything: of Python's pickle machine only the
// opcodes that build numbers, texts, lists, tuples and dictionaries are implemented. Every opcode
// that names a class or calls one (GLOBAL, REDUCE, BUILD, ...) is refused with its name and place.
//
// What is built may be folded: when a list or dictionary has received its items, the caller may
// store what it needs of them and drop the rest, so that gigabytes of events take only the memory
// of what is stored.
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
#include "core/io/bytes/limits.h"
#include "core/io/snapshots/pickle_value.h"

namespace trainyard {

/// A Pickle is what was built. Containers may contain each other in cycles, so follow named keys
/// and never traverse everything.
struct Pickle {
  PickleValue root;
  std::vector<std::string> texts;
  std::vector<std::vector<PickleValue>> containers;

  /// Returns the text, or "" for another kind.
  std::string_view text(const PickleValue&) const;
  /// Returns the items of a list, tuple or dictionary; empty for another kind.
  std::span<const PickleValue> items(const PickleValue&) const;
  /// Returns the value for a dictionary's key; null where there is none.
  const PickleValue* find(const PickleValue& dict, std::string_view key) const;
};

struct PickleOptions {
  std::stop_token stop = {};
  std::function<void(double)> progress = {};  // share of the file that is read, in [0, 1]
  /// Is called once for each list or dictionary that receives its first items. If it returns true,
  /// `folded` replaces the container and the items are dropped.
  std::function<bool(Pickle&, PickleValue::Kind, std::span<const PickleValue> items,
                     std::uint64_t& folded)>
      fold = {};
  Bytes limit = kLargestSnapshot;  // limit of what is stored; more is refused
};

/// Reads protocols 0 to 5 as far as they are plain data. Blocks. Throws Error{InvalidInput} at
/// "SOURCE (byte N)" for an opcode that is not plain data, a stack without the operands of an
/// opcode, or a file that ends early; Error{Cancelled} when stopped.
Pickle read_pickle(ByteSource&, const std::string& source, const PickleOptions& = {});
Pickle parse_pickle(std::string_view bytes, const std::string& source, const PickleOptions& = {});

}  // namespace trainyard
