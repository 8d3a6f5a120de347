// Tests which documents make a sample, and what is left as padding.
#include "core/model/packed_samples.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string>

namespace trainyard {
namespace {

// "8 2 | 5 5 | 4": the lengths in each sample.
std::string text_of(const PackedSamples& packed) {
  std::string text;
  for (const auto& sample : packed.samples) {
    text += text.empty() ? "" : " |";
    for (const std::int32_t document : sample)
      text += " " + std::to_string(packed.lengths[static_cast<std::size_t>(document)]);
  }
  return text.substr(1);
}

TEST(PackedSamples, EachDocumentGoesIntoTheFirstSampleWithRoom) {
  const PackedSamples packed = packed_samples({1, 6, 2, 4, 3, 5}, 8);
  EXPECT_EQ(text_of(packed), "6 2 | 5 3 | 4 1");
  EXPECT_DOUBLE_EQ(packed.efficiency(), 21.0 / 24);
  EXPECT_DOUBLE_EQ(packed.documents_a_sample(), 2);
  EXPECT_EQ(packed.tokens(2), 5);
  EXPECT_TRUE(packed.packed);
}

TEST(PackedSamples, PaddedDocumentsAreAlone) {
  const PackedSamples padded = padded_samples({1, 6, 2}, 8);
  EXPECT_EQ(text_of(padded), "6 | 2 | 1");
  EXPECT_DOUBLE_EQ(padded.efficiency(), 9.0 / 24);
  EXPECT_FALSE(padded.packed);
}

TEST(PackedSamples, DocumentsAreCutAtTheSequence) {
  const PackedSamples packed = packed_samples({9, 20, 8, 3}, 8);
  EXPECT_EQ(text_of(packed), "8 | 8 | 8 | 3");
  EXPECT_DOUBLE_EQ(packed.cut, 0.5);
}

// The mean over tokens of what a query sees: l / 2 keys in a document of l tokens.
TEST(PackedSamples, MeansAreOverAllTokensAndPaddingHasNothing) {
  const PackedSamples packed = packed_samples({6, 2, 3}, 8);
  EXPECT_DOUBLE_EQ(
      packed.mean_over_tokens([](std::int64_t l) { return static_cast<double>(l) / 2; }),
      (36 + 4 + 9) / 2.0 / 16);
}

TEST(PackedSamples, EveryDocumentIsInOneSampleThatHoldsIt) {
  EXPECT_TRUE(rc::check([] {
    const std::int64_t sequence = *rc::gen::inRange<std::int64_t>(1, 40);
    const auto lengths = *rc::gen::nonEmpty(
        rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(1, 50)));
    const PackedSamples packed = packed_samples(lengths, sequence);
    std::set<std::int32_t> seen;
    std::int64_t tokens = 0;
    for (std::size_t s = 0; s < packed.samples.size(); ++s) {
      RC_ASSERT(packed.tokens(s) <= sequence && packed.tokens(s) > 0);
      tokens += packed.tokens(s);
      for (const std::int32_t document : packed.samples[s]) RC_ASSERT(seen.insert(document).second);
    }
    RC_ASSERT(seen.size() == lengths.size());
    std::int64_t all = 0;
    for (const std::int64_t l : lengths) all += std::min(l, sequence);
    RC_ASSERT(tokens == all);
    // Two samples that are at most half full would have been one.
    RC_ASSERT(static_cast<std::int64_t>(packed.samples.size()) <= 2 * all / sequence + 1);
    RC_ASSERT(packed.efficiency() >= padded_samples(lengths, sequence).efficiency());
  }));
}

}  // namespace
}  // namespace trainyard
