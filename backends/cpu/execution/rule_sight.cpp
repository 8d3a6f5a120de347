#include "backends/cpu/execution/rule_sight.h"

#include <cstring>
#include <type_traits>

#include "backends/cpu/kernels/convert.h"

namespace trainyard {
namespace {

template <class T>
void put_seen(std::string& bytes, const T* values, std::size_t count) {
  static_assert(std::is_trivially_copyable_v<T>);
  bytes.append(reinterpret_cast<const char*>(values), count * sizeof(T));
}

class SeenBytes {
 public:
  explicit SeenBytes(const std::string& bytes) : bytes_(bytes) {}
  bool left() const { return at_ < bytes_.size(); }
  template <class T>
  void get(T* into, std::size_t count) {
    std::memcpy(into, bytes_.data() + at_, count * sizeof(T));
    at_ += count * sizeof(T);
  }
  template <class T>
  T get() {
    T value{};
    get(&value, 1);
    return value;
  }

 private:
  const std::string& bytes_;
  std::size_t at_ = 0;
};

// The facts without their units, of which there are any number.
struct FactNumbers {
  std::int64_t elements, zeros, nans, infinities;
  double absolute_sum, sum, square_sum, before_sum, most_moved;
  float low, high;
};

}  // namespace

std::string pack_seen(const std::vector<SeenByRules>& devices) {
  std::string bytes;
  for (std::uint64_t d = 0; d < devices.size(); ++d) {
    const SeenByRules& seen = devices[d];
    const std::uint64_t tensors = seen.tensors.size();
    const std::uint64_t answers = seen.answers.counts.size();
    const std::uint64_t tokens = seen.tokens.size();
    if (tensors == 0 && answers == 0 && seen.held.most.value == 0) continue;
    put_seen(bytes, &d, 1);
    put_seen(bytes, &seen.held, 1);
    put_seen(bytes, &seen.answers.classes, 1);
    put_seen(bytes, &answers, 1);
    put_seen(bytes, seen.answers.counts.data(), answers);
    put_seen(bytes, &tokens, 1);
    for (const auto& [token, count] : seen.tokens)
      put_seen(bytes, &token, 1), put_seen(bytes, &count, 1);
    put_seen(bytes, &tensors, 1);
    for (const auto& [tensor, facts] : seen.tensors) {
      const FactNumbers numbers{facts.elements,     facts.zeros, facts.nans,       facts.infinities,
                                facts.absolute_sum, facts.sum,   facts.square_sum, facts.before_sum,
                                facts.most_moved,   facts.low,   facts.high};
      const std::uint64_t units = facts.units.size();
      put_seen(bytes, &tensor, 1);
      put_seen(bytes, &numbers, 1);
      put_seen(bytes, &units, 1);
      put_seen(bytes, facts.units.data(), units);
    }
  }
  return bytes;
}

void unpack_seen(const std::string& bytes, std::vector<SeenByRules>& devices) {
  for (SeenBytes from(bytes); from.left();) {
    SeenByRules& seen = devices[from.get<std::uint64_t>()];
    seen.held = from.get<HeldBytes>();
    seen.answers.classes = from.get<std::int64_t>();
    seen.answers.counts.resize(from.get<std::uint64_t>());
    from.get(seen.answers.counts.data(), seen.answers.counts.size());
    const auto tokens = from.get<std::uint64_t>();
    for (std::uint64_t t = 0; t < tokens; ++t) {
      const auto token = from.get<std::int64_t>();
      seen.tokens[token] = from.get<std::int64_t>();
    }
    const auto tensors = from.get<std::uint64_t>();
    for (std::uint64_t t = 0; t < tensors; ++t) {
      TensorFacts& facts = seen.tensors[from.get<SeenTensor>()];
      const auto n = from.get<FactNumbers>();
      facts.elements = n.elements, facts.zeros = n.zeros;
      facts.nans = n.nans, facts.infinities = n.infinities;
      facts.absolute_sum = n.absolute_sum, facts.sum = n.sum, facts.square_sum = n.square_sum;
      facts.before_sum = n.before_sum, facts.most_moved = n.most_moved;
      facts.low = n.low, facts.high = n.high;
      facts.units.resize(from.get<std::uint64_t>());
      from.get(facts.units.data(), facts.units.size());
    }
  }
}

std::span<const float> as_floats(const void* data, DType type, std::int64_t elements,
                                 std::vector<float>& copy) {
  const auto n = static_cast<std::size_t>(elements);
  if (type == DType::F32) return {static_cast<const float*>(data), n};
  if (type != DType::BF16 && type != DType::F16) return {};
  copy.resize(n);
  to_floats(data, type, copy.data(), elements);
  return copy;
}

}  // namespace trainyard
