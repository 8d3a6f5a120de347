// `trainyard place`: what it prints, its document, and a scenario as a job.
#include <gtest/gtest.h>

#include <string>

#include "app/cli/text/plans/placement_text.h"
#include "app/workspace/plans/placement_document.h"
#include "core/io/json/json.h"
#include "tests/support/conforms.h"

namespace trainyard {
namespace {

PlacementStudy small_placement_study() {
  PlacementQuestion q;
  q.traces = {stated_kinds(), {3, 8, 640'000'000'000}, 30, 0.4, 1};
  q.training = 1, q.held_out = 2;
  return placement_study(q);
}

TEST(PlacementText, SaysWhatIsUnlearnableAndItsDocumentConforms) {
  const PlacementStudy study = small_placement_study();
  const std::string text = placement_text(study);
  for (const char* words :
       {"least loaded", "complementary waves", "hindsight with pairs", "Too few runs",
        "was beaten on 0 traces", "unlearnable, because hindsight knows jobs that are yet to come"})
    EXPECT_NE(text.find(words), std::string::npos) << words << "\n" << text;
  conforms(parse_json(placement_document(study), "placement"), placement_schema(), "placement");
}

}  // namespace
}  // namespace trainyard
