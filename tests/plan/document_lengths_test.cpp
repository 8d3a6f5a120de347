// Tests distributions of document lengths: their text, their shares, and what is refused.
#include "core/plan/document_lengths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/model/packed_samples.h"

namespace trainyard {
namespace {

std::vector<std::int64_t> lengths(std::string_view text, std::int64_t sequence) {
  return lengths_of_documents(parse_document_lengths(text), sequence);
}

std::string refusal_of(std::string_view text) {
  try {
    parse_document_lengths(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), Error::Kind::InvalidInput);
    return error.what();
  }
  return "";
}

double mean(const std::vector<std::int64_t>& all) {
  return static_cast<double>(std::accumulate(all.begin(), all.end(), std::int64_t{0})) /
         static_cast<double>(all.size());
}

TEST(DocumentLengths, DocumentsOfOneLengthFillEverySampleAlike) {
  for (const std::int64_t sequence : {512, 2048, 3000}) {
    const auto all = lengths("fixed:500", sequence);
    EXPECT_EQ(std::count(all.begin(), all.end(), 500), static_cast<std::ptrdiff_t>(all.size()));
    EXPECT_DOUBLE_EQ(packed_samples(all, sequence).efficiency(),
                     static_cast<double>(sequence / 500 * 500) / static_cast<double>(sequence));
  }
}

TEST(DocumentLengths, EveryLengthOfAUniformDistributionIsEquallyLikely) {
  const auto all = lengths("uniform:3-6", 4096);
  std::map<std::int64_t, double> counts;
  for (const std::int64_t l : all) ++counts[l];
  ASSERT_EQ(counts.size(), 4u);
  for (const auto& [length, count] : counts)
    EXPECT_NEAR(count / static_cast<double>(all.size()), 0.25, 1e-3) << length;
}

// The mean of a lognormal distribution is median x e^(sigma^2 / 2).
TEST(DocumentLengths, ALognormalDistributionHasItsMedianAndMean) {
  const auto all = lengths("lognormal:600,0.5", 1 << 20);
  EXPECT_NEAR(static_cast<double>(all[all.size() / 2]), 600, 1);
  EXPECT_NEAR(mean(all), 600 * std::exp(0.125), 2);
  EXPECT_TRUE(std::is_sorted(all.begin(), all.end()));
  // One standard deviation above the median are 15.87 % of all.
  const auto above = all.end() - std::upper_bound(all.begin(), all.end(),
                                                  static_cast<std::int64_t>(600 * std::exp(0.5)));
  EXPECT_NEAR(static_cast<double>(above) / static_cast<double>(all.size()), 0.1587, 2e-3);
}

TEST(DocumentLengths, AHistogramIsRepeatedAsAWhole) {
  const auto all = lengths("histogram:512*1,128*3", 1024);
  ASSERT_EQ(all.size() % 4, 0u);
  EXPECT_EQ(std::count(all.begin(), all.end(), 128),
            static_cast<std::ptrdiff_t>(all.size() / 4 * 3));
  EXPECT_EQ(std::count(all.begin(), all.end(), 512), static_cast<std::ptrdiff_t>(all.size() / 4));
}

TEST(DocumentLengths, DocumentsFillSome256SamplesOrMore) {
  for (const char* text : {"fixed:512", "uniform:64-1024", "lognormal:600,1.1", "fixed:1"})
    EXPECT_GE(packed_samples(lengths(text, 2048), 2048).samples.size(), 31u) << text;
  EXPECT_GE(packed_samples(lengths("lognormal:600,1.1", 8192), 8192).samples.size(), 250u);
}

TEST(DocumentLengths, WrongTextsAreRefusedWithAnExample) {
  EXPECT_EQ(refusal_of("512"),
            "expected fixed:512, uniform:64-1024, lognormal:600,1.1 or histogram:128*3,512*1, "
            "found \"512\"");
  EXPECT_EQ(refusal_of("fixed:0"),
            "expected a length from 1 to 10^9 tokens, as in fixed:512, found \"fixed:0\"");
  EXPECT_EQ(refusal_of("uniform:64-32"),
            "expected the shortest and the longest document in tokens, from 1 to 10^9, as in "
            "uniform:64-1024, found \"64-32\"");
  EXPECT_EQ(refusal_of("lognormal:600,nan"),
            "expected a median from 1 to 10^9 tokens and the standard deviation of the logarithm, "
            "from 0 to 5, as in lognormal:600,1.1, found \"600,nan\"");
  EXPECT_EQ(refusal_of("histogram:128*3,512"),
            "expected lengths in tokens and how many documents have each, from 1 to 10^9, as in "
            "histogram:128*3,512*1, found \"512\"");
  for (const char* wrong : {"", "fixed", "fixed:", "fixed:-1", "fixed:1e3", "fixed:99999999999",
                            "uniform:", "uniform:5", "uniform:-5", "uniform:0-5", "lognormal:600",
                            "lognormal:0.5,1", "lognormal:600,-1", "lognormal:600,9", "histogram:",
                            "histogram:*", "histogram:5*0", "histogram:5*1,", "normal:5"})
    EXPECT_NE(refusal_of(wrong), "") << wrong;
}

}  // namespace
}  // namespace trainyard
