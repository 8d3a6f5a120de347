#include "core/exporters/nested_trace.h"

#include <gtest/gtest.h>

#include "core/io/json/json.h"
#include "tests/support/made_profile.h"

namespace trainyard {
namespace {

TEST(NestedTrace, HasASpanWithItsTimesForEachBegin) {
  const NestedSpans spans = testing::made_profile().spans.recorded;
  const Json trace = parse_json(nested_trace(spans, "made \"up\""), "trace");
  std::size_t found = 0;
  for (const Json& event : *trace.find("traceEvents")->as_list()) {
    if (*event.find("ph")->text() == "M") continue;
    ++found;
    if (*event.find("name")->text() != "matmul") continue;
    EXPECT_EQ(*event.find("cat")->text(), "kernel");
    EXPECT_DOUBLE_EQ(*event.find("ts")->real(), 4200);
    EXPECT_DOUBLE_EQ(*event.find("dur")->real(), 2050);
  }
  EXPECT_EQ(found, 5);
}

}  // namespace
}  // namespace trainyard
