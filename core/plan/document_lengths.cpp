#include "core/plan/document_lengths.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <optional>

namespace trainyard {
namespace {

constexpr std::int64_t kLongest = 1'000'000'000;
constexpr std::int64_t kMostCounted = 1'000'000'000;
constexpr double kWidest = 5;
constexpr std::size_t kMostLengths = 1000;               // of a histogram
constexpr std::int64_t kSamples = 256, kMost = 1 << 16;  // samples to fill, documents

constexpr std::string_view kForms =
    "fixed:512, uniform:64-1024, lognormal:600,1.1 or histogram:128*3,512*1";

template <class T>
std::optional<T> number_in(std::string_view text, T low, T high) {
  T value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size() || !(value >= low) ||
      !(value <= high))
    return std::nullopt;
  return value;
}

std::optional<std::int64_t> tokens_in(std::string_view text) {
  return number_in<std::int64_t>(text, 1, kLongest);
}

[[noreturn]] void refuse_lengths(const Place& place, const std::string& expected,
                                 std::string_view found) {
  throw Error(Error::Kind::InvalidInput,
              "expected " + expected + ", found \"" + std::string(found.substr(0, 80)) + "\"",
              place);
}

// Halves of "a-b"; the second is empty where the separator is not there.
std::pair<std::string_view, std::string_view> halves(std::string_view text, char separator) {
  const std::size_t at = text.find(separator);
  if (at == std::string_view::npos) return {text, {}};
  return {text.substr(0, at), text.substr(at + 1)};
}

DocumentLengths uniform(std::string_view text, const Place& place) {
  const auto [low, high] = halves(text, '-');
  const auto from = tokens_in(low), to = tokens_in(high);
  if (!from || !to || *from > *to)
    refuse_lengths(place,
                   "the shortest and the longest document in tokens, from 1 to 10^9, as in "
                   "uniform:64-1024",
                   text);
  return {.kind = DocumentLengths::Kind::Uniform, .low = *from, .high = *to};
}

DocumentLengths lognormal(std::string_view text, const Place& place) {
  const auto [middle, width] = halves(text, ',');
  const auto median = number_in<double>(middle, 1, static_cast<double>(kLongest));
  const auto sigma = number_in<double>(width, 0, kWidest);
  if (!median || !sigma)
    refuse_lengths(place,
                   "a median from 1 to 10^9 tokens and the standard deviation of the logarithm, "
                   "from 0 to 5, as in lognormal:600,1.1",
                   text);
  return {.kind = DocumentLengths::Kind::Lognormal, .median = *median, .sigma = *sigma};
}

DocumentLengths histogram(std::string_view text, const Place& place) {
  DocumentLengths made{.kind = DocumentLengths::Kind::Histogram};
  for (std::string_view rest = text;;) {
    const std::size_t comma = rest.find(',');
    const auto [length, count] = halves(rest.substr(0, comma), '*');
    const auto tokens = tokens_in(length);
    const auto documents = number_in<std::int64_t>(count, 1, kMostCounted);
    if (!tokens || !documents)
      refuse_lengths(place,
                     "lengths in tokens and how many documents have each, from 1 to 10^9, as in "
                     "histogram:128*3,512*1",
                     rest.substr(0, comma));
    made.counts.emplace_back(*tokens, *documents);
    if (made.counts.size() > kMostLengths)
      refuse_lengths(place, "a histogram of at most 1000 lengths", "more");
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::sort(made.counts.begin(), made.counts.end());
  return made;
}

// The inverse of the normal distribution: a rational approximation with a relative error below
// 1.2e-9 (Acklam 2003).
double normal_quantile(double p) {
  constexpr std::array kMiddle = {-3.969683028665376e+01, 2.209460984245205e+02,
                                  -2.759285104469687e+02, 1.383577518672690e+02,
                                  -3.066479806614716e+01, 2.506628277459239e+00};
  constexpr std::array kMiddleBelow = {-5.447609879822406e+01, 1.615858368580409e+02,
                                       -1.556989798598866e+02, 6.680131188771972e+01,
                                       -1.328068155288572e+01};
  constexpr std::array kEdge = {-7.784894002430293e-03, -3.223964580411365e-01,
                                -2.400758277161838e+00, -2.549732539343734e+00,
                                4.374664141464968e+00,  2.938163982698783e+00};
  constexpr std::array kEdgeBelow = {7.784695709041462e-03, 3.224671290700398e-01,
                                     2.445134137142996e+00, 3.754408661907416e+00};
  constexpr double kTail = 0.02425;
  const auto polynomial = [](const auto& factors, double x) {
    double sum = 0;
    for (const double factor : factors) sum = sum * x + factor;
    return sum;
  };
  if (p > 0.5) return -normal_quantile(1 - p);
  if (p < kTail) {
    const double q = std::sqrt(-2 * std::log(p));
    return polynomial(kEdge, q) / (polynomial(kEdgeBelow, q) * q + 1);
  }
  const double q = p - 0.5, r = q * q;
  return polynomial(kMiddle, r) * q / (polynomial(kMiddleBelow, r) * r + 1);
}

std::int64_t documents_of(const DocumentLengths& lengths) {
  std::int64_t sum = 0;
  for (const auto& [tokens, count] : lengths.counts) sum += count;
  return sum;
}

// The mean over the middles of a hundred equal shares: near enough to choose a number of documents.
double rough_mean(const DocumentLengths& lengths, std::int64_t sequence) {
  constexpr int kShares = 100;
  double sum = 0;
  for (int i = 0; i < kShares; ++i)
    sum += static_cast<double>(std::min(sequence, lengths.quantile((i + 0.5) / kShares)));
  return sum / kShares;
}

}  // namespace

std::int64_t DocumentLengths::quantile(double share) const {
  switch (kind) {
    case Kind::Uniform:
      return std::min(high,
                      low + static_cast<std::int64_t>(share * static_cast<double>(high - low + 1)));
    case Kind::Lognormal:
      return static_cast<std::int64_t>(
          std::clamp(std::round(median * std::exp(sigma * normal_quantile(share))), 1.0,
                     static_cast<double>(kLongest)));
    case Kind::Histogram: {
      double left = share * static_cast<double>(documents_of(*this));
      for (const auto& [tokens, count] : counts) {
        left -= static_cast<double>(count);
        if (left < 0) return tokens;
      }
      return counts.back().first;
    }
  }
  return 1;
}

DocumentLengths parse_document_lengths(std::string_view text, const Place& place) {
  const auto [word, rest] = halves(text, ':');
  if (word == "fixed") {
    const auto tokens = tokens_in(rest);
    if (!tokens) refuse_lengths(place, "a length from 1 to 10^9 tokens, as in fixed:512", text);
    return {.kind = DocumentLengths::Kind::Uniform, .low = *tokens, .high = *tokens};
  }
  if (word == "uniform") return uniform(rest, place);
  if (word == "lognormal") return lognormal(rest, place);
  if (word == "histogram") return histogram(rest, place);
  refuse_lengths(place, std::string(kForms), text);
}

std::vector<std::int64_t> lengths_of_documents(const DocumentLengths& lengths,
                                               std::int64_t sequence) {
  const double wanted =
      static_cast<double>(kSamples) * static_cast<double>(sequence) / rough_mean(lengths, sequence);
  std::int64_t documents =
      static_cast<std::int64_t>(std::min(std::ceil(wanted), static_cast<double>(kMost)));
  // Documents of one length fill every sample alike, and a histogram is repeated as a whole.
  const std::int64_t together =
      lengths.kind == DocumentLengths::Kind::Histogram ? documents_of(lengths)
      : lengths.kind == DocumentLengths::Kind::Uniform && lengths.low == lengths.high
          ? std::max<std::int64_t>(1, sequence / lengths.low)
          : 1;
  if (together <= kMost) documents = (documents + together - 1) / together * together;
  std::vector<std::int64_t> all;
  all.reserve(static_cast<std::size_t>(documents));
  for (std::int64_t i = 0; i < documents; ++i)
    all.push_back(
        lengths.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(documents)));
  return all;
}

}  // namespace trainyard
