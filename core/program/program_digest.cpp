// Computes the digest of a program, over the same fields as its text form.
#include <bit>
#include <type_traits>

#include "core/base/digest.h"
#include "core/program/program_fields.h"

namespace trainyard {
namespace {

/// A digest over whole words, several times as fast as one over bytes, because programs are long.
class WordDigest {
 public:
  explicit WordDigest(const Names& names) {
    for (std::uint32_t i = 0; i < names.size(); ++i) names_.push_back(digest(names[NameId{i}]));
  }

  template <class T>
  void operator()(std::string_view, const T& value) {
    if constexpr (std::is_same_v<T, NameId>)
      mix(value.value < names_.size() ? names_[value.value] : 0);
    else if constexpr (std::is_same_v<T, std::string>)
      mix(digest(value));
    else if constexpr (std::is_same_v<T, double>)
      mix(std::bit_cast<std::uint64_t>(value));
    else if constexpr (std::is_same_v<T, Duration>)
      mix(static_cast<std::uint64_t>(value.count()));
    else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      mix(static_cast<std::uint64_t>(value));
    else
      mix(static_cast<std::uint64_t>(value.value));
  }
  void mix(std::uint64_t word) {
    state_ = (state_ ^ word) * 0x9e3779b97f4a7c15ull;
    state_ ^= state_ >> 32;
  }
  std::uint64_t value() const { return state_; }

 private:
  std::vector<std::uint64_t> names_;  // digest of each, by id
  std::uint64_t state_ = 0xcbf29ce484222325ull;
};

template <class T>
void add(WordDigest& d, T entry) {
  fields(d, entry);
}

/// Adds the length of a slice and its entries, independently of where the slice lies in its table.
template <class T>
void add(WordDigest& d, const std::vector<T>& table, std::uint32_t first, std::uint32_t count) {
  d.mix(count);
  for (std::uint32_t i = 0; i < count; ++i) add(d, table[first + i]);
}

}  // namespace

// The digest is of what the program says, not of where its tables keep it: a program read from its
// text has other slices and the same digest.
std::uint64_t digest(const Program& p) {
  WordDigest d(p.names);
  for (std::int64_t count :
       {std::int64_t{p.devices}, std::int64_t{p.stages}, std::int64_t{p.microbatches},
        std::int64_t{p.steps}, static_cast<std::int64_t>(p.placement), p.replicas, p.shard})
    d.mix(static_cast<std::uint64_t>(count));
  d.mix(p.buffers.size());
  for (const Buffer& b : p.buffers) {
    add(d, b);
    add(d, p.parts, b.first_part, b.parts);
  }
  d.mix(p.tasks.size());
  for (const Task& t : p.tasks) {
    add(d, t);
    add(d, p.works, t.first_work, t.works);
    add(d, p.effects, t.first_effect, t.effects);
  }
  d.mix(p.streams.size());
  for (const Stream& s : p.streams) {
    add(d, s);
    add(d, p.instructions, s.first, s.count);
  }
  for (const Instruction& in : p.instructions) {
    d.mix(in.afters);
    for (std::uint32_t i = 0; i < in.afters; ++i) d.mix(p.after[in.first_after + i].value);
  }
  return d.value();
}

}  // namespace trainyard
