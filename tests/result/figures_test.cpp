#include "core/result/figures.h"

#include <gtest/gtest.h>

namespace trainyard {
namespace {

using namespace std::chrono_literals;

Result result() {
  Result r;
  r.devices = 4;
  r.tokens_per_step = 8000;
  r.samples_per_step = 8;
  r.step = {2s, 1s, 4s, "why"};
  r.mfu = 0.4;
  r.capacity = 80_GiB;
  return r;
}

TEST(Figures, TheSlowEndOfTheStepIsTheLowEndOfItsRate) {
  const Banded<double> rate = rate_per_device(result());
  EXPECT_DOUBLE_EQ(rate.value, 1000);
  EXPECT_DOUBLE_EQ(rate.low, 500);
  EXPECT_DOUBLE_EQ(rate.high, 2000);
  EXPECT_EQ(rate.basis, "why");
  Result samples = result();
  samples.counts_tokens = false;
  EXPECT_DOUBLE_EQ(rate_per_device(samples).value, 1);
}

TEST(Figures, UtilisationIsNeverAboveItsPeak) {
  Banded<double> share = utilisation(result());
  EXPECT_DOUBLE_EQ(share.value, 0.4);
  EXPECT_DOUBLE_EQ(share.low, 0.2);
  EXPECT_DOUBLE_EQ(share.high, 0.8);
  Result quick = result();
  quick.step.low = 500ms;
  EXPECT_DOUBLE_EQ(utilisation(quick).high, 1);
}

// Twice as many tokens as are useful in a step of two seconds.
TEST(Figures, DocumentsSayWhatIsUseful) {
  Result r = result();
  EXPECT_TRUE(document_sentences(r).empty());
  r.documents = {1, 0.5, 512, 512};
  const std::string useful = readable_rate(r.tokens_per_step / 4);
  EXPECT_EQ(
      document_sentences(r),
      std::vector<std::string>{"1 a sample, 50.0 % of the tokens: " + useful + " useful tokens/s"});
  r.documents = {1, 0.5, 300.25, 512};
  ASSERT_EQ(document_sentences(r).size(), 2u);
  EXPECT_EQ(
      document_sentences(r)[1],
      "microbatches of 300.2 tokens a sample in the mean, priced as equal; memory is for 512");
  r.step = {};
  EXPECT_TRUE(document_sentences(r).empty());
}

TEST(Figures, AStepOfNoLengthHasNoRate) {
  Result empty = result();
  empty.step = {};
  EXPECT_EQ(rate_per_device(empty).value, 0);
  EXPECT_EQ(utilisation(empty).value, 0);
  EXPECT_FALSE(has_band(empty.step));
}

TEST(Figures, TheFullestDeviceHasTheHighestPeak) {
  Result r = result();
  EXPECT_EQ(fullest(r), nullptr);
  r.memory = {{StageId{0}, DeviceId{0}, {1_GiB, 1_GiB, 1_GiB, ""}, {}, {}},
              {StageId{1}, DeviceId{1}, {70_GiB, 60_GiB, 80_GiB, ""}, {}, {}}};
  EXPECT_EQ(fullest(r)->device, DeviceId{1});
}

}  // namespace
}  // namespace trainyard
