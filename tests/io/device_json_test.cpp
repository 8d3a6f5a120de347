#include "core/io/documents/device_json.h"

#include <gtest/gtest.h>

#include "core/cost/physical.h"
#include "core/io/documents/cluster_json.h"
#include "core/io/json/json.h"

namespace trainyard {
namespace {

TEST(DeviceJson, HasEveryFigureAndEveryParameterThatPredictionsRead) {
  for (const char* id : {"h100-sxm", "gb300-gpu", "tpu-v5e", "cpu"}) {
    const Device& d = device(id);
    const Json json = parse_json(device_document(d), "device");
    const Json* peaks = json.find("device")->find("peaks");
    ASSERT_NE(peaks, nullptr) << id;
    EXPECT_EQ(peaks->as_object()->size(), d.peaks.size()) << id;
    const Json::List& list = *json.find("parameters")->as_list();
    const std::vector<Parameter> read = parameters_of(d);
    ASSERT_EQ(list.size(), read.size()) << id;
    for (std::size_t i = 0; i < read.size(); ++i) {
      EXPECT_EQ(*list[i].find("name")->text(), info(read[i]).name);
      EXPECT_FALSE(list[i].find("meaning")->text()->empty());
      EXPECT_FALSE(list[i].find("source")->text()->empty());
    }
  }
}

// The device member is what a cluster's document takes for a device.
TEST(DeviceJson, ADeviceWrittenOutIsReadAgain) {
  const Device& d = device("gb300-gpu");
  Json cluster = to_json(make_cluster(d, 72));
  cluster.set("device", to_json(d));
  EXPECT_EQ(read_cluster(write_json(cluster), "again").device, d);
}

TEST(DeviceJson, ParametersMayBeOnesOwn) {
  Parameters own;
  own[Parameter::ProductHopper] = 0.5;
  EXPECT_NE(device_document(device("h100"), own), device_document(device("h100")));
}

}  // namespace
}  // namespace trainyard
