// Tests the picture of a profile: that it holds what was found, as recorded and corrected.
#include "visualizers/profile/profile_view.h"

#include <gtest/gtest.h>

#include "tests/support/made_profile.h"
#include "tests/visualizers/labels.h"

namespace trainyard {
namespace {

using testing::made_profile;
using testing::says;

TEST(ProfileView, HasARowForEachAnnotationAsRecordedAndCorrected) {
  const ProfileStudy study = made_profile();
  const Drawing drawing = profile_picture(study);
  for (const char* words :
       {"update", "update/forward", "corrected", "kernel", "What the records took",
        "How busy the device is", "in kernels", "by samples"})
    EXPECT_TRUE(says(drawing, words)) << words;
  EXPECT_EQ(testing::label_faults(drawing), std::vector<std::string>{});
  // Forward is the third chain, after what is outside of all and the update: its kernel took 2.05
  // ms as recorded and 2 ms corrected.
  EXPECT_EQ(describe_profile(study, {ItemKind::Other, 4 * 64 + 4}).value, "2.05 ms");
  const Hover corrected = describe_profile(study, {ItemKind::Other, 5 * 64 + 4});
  EXPECT_EQ(corrected.title, "update/forward, corrected");
  EXPECT_EQ(corrected.value, "2 ms");
  EXPECT_EQ(describe_profile(study, {ItemKind::Other, 4096 + 0}).lines.front(),
            "2 records of 100000.0 ns");
  EXPECT_EQ(describe_profile(study, {ItemKind::Other, 2 * 4096 + 64}).value, "30 %");
  EXPECT_EQ(describe_profile(study, {ItemKind::Other, 4000}).title, "");
}

TEST(ProfileView, TableAndSentencesSayTheSame) {
  const ProfileStudy study = made_profile();
  const DataTable table = profile_table(study);
  std::int64_t recorded = 0, corrected = 0;
  for (std::size_t row = 0; row < table.rows; ++row) {
    recorded += std::get<std::int64_t>(table.cell(row, 3));
    corrected += std::get<std::int64_t>(table.cell(row, 4));
  }
  EXPECT_EQ(recorded, 10'500'000);
  EXPECT_EQ(corrected, 10'000'000);
  const std::vector<std::string> sentences = profile_sentences(study);
  EXPECT_EQ(sentences[0],
            "A run of 10.0 ms is 5.0 % longer with records; corrected, its profile is 0.0 % above "
            "it.");
  EXPECT_EQ(sentences[1],
            "A kernel runs 20.0 % of the time; by samples of 1.50 ms it seems to be 30.0 %, 1.5 "
            "times as much.");
}

TEST(ProfileView, WithoutKernelsSaysNothingOfTheDevice) {
  ProfileStudy study = made_profile();
  study.use.reset();
  EXPECT_FALSE(says(profile_picture(study), "How busy the device is"));
  EXPECT_EQ(profile_sentences(study).size(), 1);
}

}  // namespace
}  // namespace trainyard
