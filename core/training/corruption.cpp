#include "core/training/corruption.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>

#include "core/base/drawn_normal.h"
#include "core/base/nearest.h"
#include "core/base/split_list.h"

namespace trainyard {
namespace {

struct KindOfCorruption {
  std::string_view name;
  double least, most;
  bool whole;
};
constexpr std::array<KindOfCorruption, 5> kCorruptions = {{{"noise", 0, 1000, false},
                                                           {"shift", 0, 1000, true},
                                                           {"contrast", 0, 1, false},
                                                           {"replace", 0, 1, false},
                                                           {"bits", 2, 8, true}}};

const KindOfCorruption& entry_of(CorruptionKind kind) {
  return kCorruptions[static_cast<std::size_t>(kind)];
}

void add_noise(double deviation, const Random& random, std::span<float> numbers) {
  for (std::size_t i = 0; i < numbers.size(); ++i)
    numbers[i] += static_cast<float>(deviation * drawn_normal(random, i));
}

void move_image(std::int64_t pixels, const Random& random, std::int64_t height, std::int64_t width,
                std::span<float> image) {
  if (height < 1 || width < 1) return;
  // Eight sides: all pairs of -1, 0 and 1 but that of no movement.
  std::int64_t side = random.between(0, 0, 7);
  if (side >= 4) ++side;
  const std::int64_t down = (side / 3 - 1) * pixels, across = (side % 3 - 1) * pixels;
  const float ground = *std::min_element(image.begin(), image.end());
  const std::vector<float> before(image.begin(), image.end());
  const std::int64_t rows = static_cast<std::int64_t>(image.size()) / width;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < width; ++column) {
      const std::int64_t from_row = row % height - down, from_column = column - across;
      const bool inside =
          from_row >= 0 && from_row < height && from_column >= 0 && from_column < width;
      const std::int64_t from = (row - down) * width + from_column;
      image[static_cast<std::size_t>(row * width + column)] =
          inside ? before[static_cast<std::size_t>(from)] : ground;
    }
}

void flatten(double share, std::span<float> numbers) {
  const double mean =
      std::accumulate(numbers.begin(), numbers.end(), 0.0) / static_cast<double>(numbers.size());
  for (float& number : numbers)
    number = static_cast<float>(mean + (1 - share) * (static_cast<double>(number) - mean));
}

}  // namespace

std::string to_text(const Corruption& c) {
  return fmt::format("{}:{}", entry_of(c.kind).name, c.amount);
}

std::string corruption_words(const Corruption& c) {
  switch (c.kind) {
    case CorruptionKind::Noise:
      return fmt::format("noise with a standard deviation of {}", c.amount);
    case CorruptionKind::Shift:
      return fmt::format("images moved by {} {}", c.amount, c.amount == 1 ? "pixel" : "pixels");
    case CorruptionKind::Contrast:
      return fmt::format("contrast lowered by {:g} %", 100 * c.amount);
    case CorruptionKind::Replace:
      return fmt::format("{:g} % of tokens replaced at random", 100 * c.amount);
    case CorruptionKind::Bits:
      return fmt::format("weights rounded to {} bits", c.amount);
  }
  return "";
}

Corruption read_corruption(std::string_view text, const Place& place, bool weights) {
  const std::span<const KindOfCorruption> kinds(kCorruptions.data(),
                                                kCorruptions.size() - (weights ? 0 : 1));
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  const auto found = std::find_if(kinds.begin(), kinds.end(),
                                  [&](const KindOfCorruption& one) { return one.name == name; });
  std::vector<std::string_view> names;
  for (const KindOfCorruption& one : kinds) names.push_back(one.name);
  if (found == kinds.end())
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {} and an amount, as in noise:0.3, found \"{}\"{}",
                            fmt::join(names, ", "), text.substr(0, 80),
                            did_you_mean(name.substr(0, 80), names)),
                place);
  const std::string_view number = text.substr(std::min(colon + 1, text.size()));
  double amount = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), amount);
  if (read.ec != std::errc() || read.ptr != number.data() + number.size() ||
      !(amount >= found->least) || amount > found->most ||
      (found->whole && amount != std::floor(amount)))
    throw Error(Error::Kind::InvalidInput,
                fmt::format("expected {} from {} to {} after {}:, found \"{}\"",
                            found->whole ? "a whole number" : "a number", found->least, found->most,
                            found->name, number.substr(0, 80)),
                place);
  return {static_cast<CorruptionKind>(found - kinds.begin()), amount};
}

std::vector<Corruption> read_corruptions(std::string_view text, const Place& place) {
  std::vector<Corruption> list;
  for (const std::string_view word : split_list(text)) list.push_back(read_corruption(word, place));
  return list;
}

void corrupt(const Corruption& c, const Random& random, std::int64_t height, std::int64_t width,
             std::span<float> numbers) {
  if (c.amount == 0 || numbers.empty()) return;
  switch (c.kind) {
    case CorruptionKind::Noise:
      return add_noise(c.amount, random, numbers);
    case CorruptionKind::Shift:
      return move_image(static_cast<std::int64_t>(c.amount), random, height, width, numbers);
    case CorruptionKind::Contrast:
      return flatten(c.amount, numbers);
    case CorruptionKind::Replace:
    case CorruptionKind::Bits:
      return;
  }
}

void corrupt(const Corruption& c, const Random& random, std::int64_t limit,
             std::span<std::int64_t> tokens) {
  if (c.kind != CorruptionKind::Replace) return;
  for (std::size_t i = 0; i < tokens.size(); ++i)
    if (random.uniform(2 * i) < c.amount) tokens[i] = random.between(2 * i + 1, 0, limit - 1);
}

}  // namespace trainyard
