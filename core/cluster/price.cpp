#include "core/cluster/price.h"

#include <fmt/format.h>

#include "core/base/units_text.h"
#include "core/cluster/with_count.h"

namespace trainyard {
namespace {

constexpr std::string_view kPriceUnit = "USD/h";

}  // namespace

double parse_price(std::string_view text) {
  if (!text.ends_with(kPriceUnit))
    refuse(fmt::format("expected US dollars an hour such as \"2.5{}\", found \"{}\"", kPriceUnit,
                       text.substr(0, 60)));
  const double price = parse_number(text.substr(0, text.size() - kPriceUnit.size()));
  if (price > 0) return price;
  refuse(fmt::format("price must be above 0, not \"{}\"", text.substr(0, 60)));
}

std::string price_text(double price) { return to_text(price) + std::string(kPriceUnit); }

Cluster with_price(const Cluster& cluster, double price) {
  const bool named = says_all(cluster);
  if (named && cluster.name.find(",price=") != std::string::npos)
    refuse("expected a cluster that states no price itself, found " + cluster.name);
  if (named) return parse_cluster(cluster.name + ",price=" + price_text(price));
  Cluster other = cluster;
  other.device.price_low = other.device.price_high = {price, "given"};
  return other;
}

}  // namespace trainyard
