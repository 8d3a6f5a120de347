#include "core/cluster/price.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "core/cluster/with_count.h"

namespace trainyard {
namespace {

std::string price_error(const auto& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

RC_GTEST_PROP(Price, TextReadsBackAsTheSamePrice, ()) {
  const double price = *rc::gen::map(rc::gen::inRange(1, 100'000'000),
                                     [](int parts) { return static_cast<double>(parts) / 7e3; });
  RC_ASSERT(parse_price(price_text(price)) == price);
  const Cluster cluster = with_price(parse_cluster("h100-sxm:16,per-node=4"), price);
  RC_ASSERT(cluster == parse_cluster("h100-sxm:16,per-node=4,price=" + price_text(price)));
  RC_ASSERT(says_all(cluster));
}

TEST(Price, OfAClusterWhoseNameDoesNotSayAllLeavesTheName) {
  Cluster own = parse_cluster("h100-sxm:16");
  own.name = "my cluster";
  Cluster priced = with_price(own, 2.5);
  EXPECT_EQ(priced.device.price_low->value, 2.5);
  EXPECT_EQ(priced.device.price_high->value, 2.5);
  priced.device.price_low = own.device.price_low, priced.device.price_high = own.device.price_high;
  EXPECT_EQ(priced, own);
}

TEST(Price, SaysWhatIsWrongWithIt) {
  EXPECT_EQ(price_error([] { parse_price("2.5"); }),
            "expected US dollars an hour such as \"2.5USD/h\", found \"2.5\"");
  EXPECT_EQ(price_error([] { parse_price("-2USD/h"); }), "price must be above 0, not \"-2USD/h\"");
  EXPECT_EQ(price_error([] { with_price(parse_cluster("h100-sxm:8,price=3USD/h"), 2); }),
            "expected a cluster that states no price itself, found h100-sxm:8,price=3USD/h");
}

}  // namespace
}  // namespace trainyard
