#include "core/training/numbers/boveda.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace trainyard {
namespace {

constexpr std::int64_t kPadding = 16;
constexpr std::int64_t kEight = 8;  // numbers whose fields fill whole bytes at any width

template <class Number>
constexpr int kBits = 8 * sizeof(Number);
template <class Number>
constexpr int kHeaderBits = sizeof(Number) == 1 ? 3 : 4;  // ceil(log2(bits))

template <class Number>
int width_of(Number number) {
  if (number == std::numeric_limits<Number>::min()) return kBits<Number>;
  return 1 + static_cast<int>(std::bit_width(static_cast<unsigned>(std::abs(number))));
}

template <class Number>
std::uint32_t field_of(Number number, int width) {
  const std::uint32_t sign = std::uint32_t{1} << (width - 1);
  if (number == std::numeric_limits<Number>::min()) return sign;
  return static_cast<std::uint32_t>(std::abs(number)) | (number < 0 ? sign : 0);
}

// Adds fields behind each other, the first in the lowest bits.
class BitWriter {
 public:
  explicit BitWriter(std::vector<std::uint8_t>& to) : to_(to) {}
  void add(std::uint32_t field, int width) {
    held_ |= std::uint64_t{field} << count_;
    for (count_ += width; count_ >= 8; count_ -= 8, held_ >>= 8)
      to_.push_back(static_cast<std::uint8_t>(held_));
  }
  void end() {
    if (count_ > 0) to_.push_back(static_cast<std::uint8_t>(held_));
    held_ = 0, count_ = 0;
  }

 private:
  std::vector<std::uint8_t>& to_;
  std::uint64_t held_ = 0;
  int count_ = 0;
};

template <class Number>
void encode_tile(const BovedaForm& form, std::span<const Number> numbers,
                 std::vector<std::uint8_t>& to) {
  const auto each = static_cast<std::size_t>(form.group);
  const std::size_t groups = (numbers.size() + each - 1) / each;
  std::vector<int> widths(groups, 1);
  BitWriter writer(to);
  for (std::size_t g = 0; g < groups; ++g) {
    for (std::size_t i = g * each; i < std::min(numbers.size(), (g + 1) * each); ++i)
      widths[g] = std::max(widths[g], width_of(numbers[i]));
    writer.add(static_cast<std::uint32_t>(widths[g] - 1), kHeaderBits<Number>);
  }
  writer.end();
  for (std::size_t g = 0; g < groups; ++g)
    for (std::size_t i = g * each; i < (g + 1) * each; ++i)
      writer.add(i < numbers.size() ? field_of(numbers[i], widths[g]) : 0, widths[g]);
}

template <class Number>
BovedaTensor encode(std::span<const Number> numbers, const BovedaForm& form) {
  assert(form.group > 0 && form.group % kEight == 0);
  assert(form.tile > 0 && form.tile % (kEight * form.group) == 0);
  BovedaTensor made{form, kBits<Number>, static_cast<std::int64_t>(numbers.size()), {0}, {}};
  const auto tile = static_cast<std::size_t>(form.tile);
  for (std::size_t first = 0; first < numbers.size(); first += tile) {
    encode_tile(form, numbers.subspan(first, std::min(tile, numbers.size() - first)), made.stored);
    made.address.push_back(made.stored.size());
  }
  made.stored.resize(made.stored.size() + kPadding);
  return made;
}

std::uint64_t word_at(const std::uint8_t* from) {
  static_assert(std::endian::native == std::endian::little, "fields are read as words");
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

// Numbers lie side by side in a word of 64 bits, in which all of them are worked on at once.
template <class Number>
struct Lanes {
  static constexpr int kLane = kBits<Number>;
  static constexpr int kCount = 64 / kLane;
  /// Returns a word with the value in every lane of so many bits.
  static constexpr std::uint64_t every(int lane, std::uint64_t value) {
    std::uint64_t word = 0;
    for (int at = 0; at < 64; at += lane) word |= value << at;
    return word;
  }
  static constexpr std::uint64_t low_bits(int count) {
    return count >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
  }

  /// A Width has what taking numbers of one width apart needs.
  struct Width {
    // Halves are moved apart, then their halves, until every field has a lane of its own.
    struct Step {
      int shift = 0;
      std::uint64_t lower = 0, upper = 0;
    };
    Step steps[3] = {};
    std::uint64_t size = 0;
    int sign = 0;
  };
  static constexpr Width make(int width) {
    Width w;
    int step = 0;
    for (int fields = kCount / 2; fields >= 1; fields /= 2, ++step) {
      const int lane = 2 * fields * kLane;
      const std::uint64_t mask = low_bits(fields * width);
      w.steps[step] = {fields * (kLane - width), every(lane, mask),
                       every(lane, mask << (fields * kLane))};
    }
    w.size = every(kLane, low_bits(width - 1));
    w.sign = width - 1;
    return w;
  }
  struct Widths {
    Width of[kLane + 1] = {};
  };
  static constexpr Widths make_all() {
    Widths all;
    for (int width = 1; width <= kLane; ++width) all.of[width] = make(width);
    return all;
  }
  static constexpr Widths kWidths = make_all();

  static std::uint64_t decode(std::uint64_t fields, const Width& w) {
    constexpr std::uint64_t kOnes = every(kLane, 1), kSizes = every(kLane, low_bits(kLane - 1)),
                            kMost = low_bits(kLane);
    std::uint64_t x = fields;
    for (int step = 0; (1 << step) < kCount; ++step)
      x = (x & w.steps[step].lower) | ((x << w.steps[step].shift) & w.steps[step].upper);
    const std::uint64_t sign = (x >> w.sign) & kOnes, size = x & w.size;
    // A size of zero is the only one that adding all other bits leaves below the lane's last bit.
    const std::uint64_t zero = (((size + kSizes) >> (kLane - 1)) & kOnes) ^ kOnes;
    const std::uint64_t least = zero & sign;
    // Minus s is the complement of s, and one more; for the least number the complement of zero
    // keeps its first bit alone.
    return ((size ^ (sign * kMost)) + (sign ^ least)) ^ (least * low_bits(kLane - 1));
  }
};

// Takes eight fields apart, which begin at a byte.
inline void decode_eight(const std::uint8_t* from, int width, std::int8_t* into) {
  const std::uint64_t numbers =
      Lanes<std::int8_t>::decode(word_at(from), Lanes<std::int8_t>::kWidths.of[width]);
  std::memcpy(into, &numbers, sizeof numbers);
}
inline void decode_eight(const std::uint8_t* from, int width, std::int16_t* into) {
  const auto& w = Lanes<std::int16_t>::kWidths.of[width];
  const int half = 4 * width;  // bits of four fields, which may end within a byte
  const std::uint64_t numbers[] = {
      Lanes<std::int16_t>::decode(word_at(from), w),
      Lanes<std::int16_t>::decode(word_at(from + half / 8) >> (half % 8), w)};
  std::memcpy(into, numbers, sizeof numbers);
}

template <class Number>
void decode_tile(const BovedaTensor& tensor, std::size_t tile, std::span<Number> into) {
  assert(tensor.bits == kBits<Number>);
  assert(static_cast<std::int64_t>(into.size()) == tensor.count_of(tile));
  constexpr int kHeader = kHeaderBits<Number>;
  const auto each = static_cast<std::size_t>(tensor.form.group);
  const std::size_t groups = (into.size() + each - 1) / each;
  const std::uint8_t* const headers = tensor.stored.data() + tensor.address[tile];
  const std::uint8_t* fields = headers + (groups * kHeader + 7) / 8;
  // The headers of eight groups fill whole bytes, and one word has them all.
  std::uint64_t eight_headers = 0;
  const auto next_width = [&](std::size_t g) {
    if (g % kEight == 0) eight_headers = word_at(headers + g / kEight * kHeader);
    const int width = 1 + static_cast<int>(eight_headers & ((1 << kHeader) - 1));
    eight_headers >>= kHeader;
    return width;
  };
  Number* to = into.data();
  Number* const whole = to + into.size() / kEight * kEight;
  int width = 1;
  std::size_t group = 0;
  if (each == kEight)
    for (; to != whole; to += kEight, fields += width) {
      width = next_width(group++);
      decode_eight(fields, width, to);
    }
  for (; group < groups; ++group) {
    width = next_width(group);
    for (std::size_t i = 0; i < each && to != whole; i += kEight, to += kEight, fields += width)
      decode_eight(fields, width, to);
  }
  if (into.size() % kEight == 0) return;
  Number last[kEight];
  decode_eight(fields, width, last);
  std::copy_n(last, into.size() % kEight, whole);
}

template <class Number>
void decode_all(const BovedaTensor& tensor, std::span<Number> into) {
  assert(static_cast<std::int64_t>(into.size()) == tensor.count);
  std::size_t first = 0;
  for (std::size_t tile = 0; tile < tensor.tiles(); ++tile) {
    const auto count = static_cast<std::size_t>(tensor.count_of(tile));
    decode_tile(tensor, tile, into.subspan(first, count));
    first += count;
  }
}

}  // namespace

std::int64_t BovedaTensor::count_of(std::size_t tile) const {
  return std::min(form.tile, count - static_cast<std::int64_t>(tile) * form.tile);
}

double BovedaTensor::ratio_of(std::size_t tile) const {
  const std::int64_t each = bits / 8;
  return static_cast<double>(address[tile + 1] - address[tile]) /
         static_cast<double>(count_of(tile) * each);
}

double BovedaTensor::ratio() const {
  const std::int64_t each = bits / 8;
  return count > 0 ? static_cast<double>(address.back()) / static_cast<double>(count * each) : 1;
}

double BovedaTensor::worst_ratio() const {
  double worst = tiles() > 0 ? 0 : 1;
  for (std::size_t tile = 0; tile < tiles(); ++tile) worst = std::max(worst, ratio_of(tile));
  return worst;
}

BovedaTensor boveda_encode(std::span<const std::int8_t> numbers, const BovedaForm& form) {
  return encode(numbers, form);
}
BovedaTensor boveda_encode(std::span<const std::int16_t> numbers, const BovedaForm& form) {
  return encode(numbers, form);
}

void boveda_decode(const BovedaTensor& tensor, std::size_t tile, std::span<std::int8_t> into) {
  decode_tile(tensor, tile, into);
}
void boveda_decode(const BovedaTensor& tensor, std::size_t tile, std::span<std::int16_t> into) {
  decode_tile(tensor, tile, into);
}
void boveda_decode(const BovedaTensor& tensor, std::span<std::int8_t> into) {
  decode_all(tensor, into);
}
void boveda_decode(const BovedaTensor& tensor, std::span<std::int16_t> into) {
  decode_all(tensor, into);
}

std::vector<std::int8_t> eight_bit_codes(std::span<const float> numbers) {
  double largest = 0;
  for (const float number : numbers)
    largest = std::max(largest, std::abs(static_cast<double>(number)));
  constexpr double kMost = std::numeric_limits<std::int8_t>::max();
  const double scale = largest > 0 ? largest / kMost : 1;
  std::vector<std::int8_t> codes;
  codes.reserve(numbers.size());
  for (const float number : numbers)
    codes.push_back(static_cast<std::int8_t>(std::nearbyint(number / scale)));
  return codes;
}

}  // namespace trainyard
