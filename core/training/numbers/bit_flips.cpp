#include "core/training/numbers/bit_flips.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "core/base/nearest.h"
#include "core/plan/params.h"

namespace trainyard {
namespace {

constexpr std::string_view kOff = "off";
constexpr std::array<std::string_view, 6> kParts = {
    "any", "sign", "exponent", "first-exponent", "mantissa", "last-mantissa"};
constexpr std::array<std::string_view, 3> kChecks = {"checksums", "ranges", "rules"};
constexpr std::uint64_t kStream = 0xf11b;  // of all flips

template <std::size_t n>
std::size_t one_of(const std::array<std::string_view, n>& names, std::string_view word,
                   const Place& place) {
  const auto found = std::find(names.begin(), names.end(), word);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  throw Error(Error::Kind::InvalidInput,
              fmt::format("expected off or {} with commas between them, found \"{}\"{}",
                          fmt::join(names, ", "), word.substr(0, 80),
                          did_you_mean(word.substr(0, 80), names)),
              place);
}

// Calls f with each word of a list, of which "off" has none.
template <class F>
void each_word(std::string_view list, F&& f) {
  if (list == kOff) return;
  for (std::size_t begin = 0; begin <= list.size();) {
    const std::size_t comma = std::min(list.find(',', begin), list.size());
    f(list.substr(begin, comma - begin));
    begin = comma + 1;
  }
}

template <std::size_t n>
std::string joined(const std::array<std::string_view, n>& names, const std::array<bool, n>& on) {
  std::string text;
  for (std::size_t i = 0; i < n; ++i)
    if (on[i]) text += (text.empty() ? "" : ",") + std::string(names[i]);
  return text.empty() ? std::string(kOff) : text;
}

}  // namespace

bool BitFlips::flips() const {
  return std::any_of(rates.begin(), rates.end(), [](double rate) { return rate > 0; });
}

std::array<double, kFlipClasses> read_flip_rates(std::string_view text, const Place& place) {
  std::array<double, kFlipClasses> rates = {};
  each_word(text, [&](std::string_view word) {
    const std::size_t colon = word.find(':');
    const std::size_t of = one_of(kFlipClassNames, word.substr(0, colon), place);
    if (colon == std::string_view::npos)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected a rate behind a colon, as in {0}:1e-9, found \"{0}\"",
                              word.substr(0, 80)),
                  place);
    if (rates[of] > 0)
      throw Error(Error::Kind::InvalidInput,
                  fmt::format("expected each class once, found {} twice", kFlipClassNames[of]),
                  place);
    rates[of] =
        std::get<double>(parse_param({.name = "", .fallback = 0.0, .doc = "", .low = 0, .high = 1},
                                     word.substr(colon + 1), place));
  });
  return rates;
}

std::string flip_rates_text(const BitFlips& flips) {
  std::string text;
  for (std::size_t i = 0; i < kFlipClasses; ++i)
    if (flips.rates[i] > 0)
      text += fmt::format("{}{}:{}", text.empty() ? "" : ",", kFlipClassNames[i], flips.rates[i]);
  return text.empty() ? std::string(kOff) : text;
}

std::array<bool, kFlipClasses> read_flip_ecc(std::string_view text, const Place& place) {
  std::array<bool, kFlipClasses> ecc = {};
  each_word(text, [&](std::string_view word) { ecc[one_of(kFlipClassNames, word, place)] = true; });
  return ecc;
}

std::string flip_ecc_text(const BitFlips& flips) { return joined(kFlipClassNames, flips.ecc); }

void read_flip_checks(std::string_view text, BitFlips& flips, const Place& place) {
  std::array<bool, kChecks.size()> on = {};
  each_word(text, [&](std::string_view word) { on[one_of(kChecks, word, place)] = true; });
  flips.checksums = on[0], flips.ranges = on[1], flips.rules = on[2];
}

std::string flip_checks_text(const BitFlips& flips) {
  return joined(kChecks, {flips.checksums, flips.ranges, flips.rules});
}

std::span<const std::string_view> flip_part_names() { return kParts; }

BitRange bits_of(FlipPart part, DType type) {
  const int mantissa = type == DType::F32    ? 23
                       : type == DType::BF16 ? 7
                                             : 10,
            exponent = type == DType::F16 ? 5 : 8;
  switch (part) {
    case FlipPart::Any:
      return {0, mantissa + exponent + 1};
    case FlipPart::Sign:
      return {mantissa + exponent, 1};
    case FlipPart::Exponent:
      return {mantissa, exponent};
    case FlipPart::FirstExponent:
      return {mantissa + exponent - 1, 1};
    case FlipPart::Mantissa:
      return {0, mantissa};
    case FlipPart::LastMantissa:
      return {0, 1};
  }
  return {};
}

// The numbers of bits that stay between two flips are geometric.
std::vector<BitFlip> drawn_flips(const FlipDraw& draw, double rate, std::int64_t elements,
                                 BitRange range) {
  std::vector<BitFlip> flips;
  if (rate <= 0 || range.count == 0) return flips;
  std::uint64_t key = draw.seed;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(draw.of), static_cast<std::uint64_t>(draw.step),
        static_cast<std::uint64_t>(draw.attempt), draw.tensor,
        static_cast<std::uint64_t>(draw.microbatch)})
    key = Random(key, kStream).bits(part);
  const Random random(key, kStream);
  const std::int64_t bits = elements * range.count;
  const double stays = std::log1p(-rate);
  std::uint64_t drawn = 0;
  for (std::int64_t at = 0; at < bits; ++at) {
    const double between = std::floor(std::log1p(-random.uniform(drawn++)) / stays);
    if (between >= static_cast<double>(bits - at)) break;
    at += static_cast<std::int64_t>(between);
    flips.push_back({at / range.count, range.first + static_cast<int>(at % range.count)});
  }
  return flips;
}

AfterEcc after_ecc(const std::vector<BitFlip>& flips, int bits_of_element) {
  constexpr std::int64_t kWord = 64;
  const auto word_of = [&](const BitFlip& flip) {
    return (flip.element * bits_of_element + flip.bit) / kWord;
  };
  AfterEcc after;
  for (std::size_t first = 0, end = 0; first < flips.size(); first = end) {
    while (end < flips.size() && word_of(flips[end]) == word_of(flips[first])) ++end;
    if (end - first == 1) {
      ++after.corrected;
      continue;
    }
    if ((end - first) % 2 == 0) after.detected += static_cast<std::int64_t>(end - first);
    after.left.insert(after.left.end(), flips.begin() + static_cast<std::ptrdiff_t>(first),
                      flips.begin() + static_cast<std::ptrdiff_t>(end));
  }
  return after;
}

void flip_bit(std::byte* element, int bytes, int bit) {
  std::uint32_t word = 0;
  std::memcpy(&word, element, static_cast<std::size_t>(bytes));
  word ^= 1u << bit;
  std::memcpy(element, &word, static_cast<std::size_t>(bytes));
}

FlipCounts FlipReport::all() const {
  FlipCounts sum;
  for (const FlipCounts& one : classes) {
    sum.injected += one.injected;
    sum.corrected += one.corrected;
    sum.detected += one.detected;
  }
  return sum;
}

}  // namespace trainyard
