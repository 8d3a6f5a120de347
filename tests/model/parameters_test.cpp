// Compares the parameter count of every model of the zoo with the published count, or with our
// formula's if only a rounded count was published.
#include <gtest/gtest.h>

#include <set>

#include "core/base/error.h"
#include "core/model/zoo/zoo.h"
#include "tests/support/non_empty.h"

namespace trainyard {
namespace {

TEST(Parameters, EveryZooModelHasItsCount) {
  for (const ZooEntry& entry : testing::non_empty(zoo())) {
    const Model model = zoo_model(entry.name);
    EXPECT_EQ(parameters(model), entry.parameters) << entry.name;
    EXPECT_EQ(active_parameters(model), entry.active_parameters) << entry.name;
    EXPECT_EQ(model.name, entry.name);
    EXPECT_FALSE(model.source.empty()) << entry.name;
  }
}

}  // namespace
}  // namespace trainyard
