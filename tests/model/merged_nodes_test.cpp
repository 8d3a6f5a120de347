#include "core/model/merged_nodes.h"

#include <gtest/gtest.h>

#include "core/model/graph_builder.h"

namespace trainyard {
namespace {

using Attributes = std::map<std::string, std::int64_t>;

struct ConvolutionsOfOneImage : GraphBuilder {
  TensorId image = activation("input", {kBatch, whole(4), whole(8), whole(8)});

  const Node& add(const std::string& name, std::int64_t out, std::int64_t kernel,
                  Attributes attributes, bool bias = false, std::int64_t groups = 1) {
    std::vector<TensorId> inputs = {
        image,
        parameter(name + ".weight", {whole(out), whole(4 / groups), whole(kernel), whole(kernel)})};
    if (bias) inputs.push_back(parameter(name + ".bias", {whole(out)}));
    if (groups > 1) attributes["groups"] = groups;
    node(name, convolution(), inputs, attributes);
    return graph.nodes.back();
  }
  bool merge(std::size_t a, std::size_t b) const {
    EXPECT_EQ(may_merge(graph, graph.nodes[a], graph.nodes[b]),
              may_merge(graph, graph.nodes[b], graph.nodes[a]));
    return may_merge(graph, graph.nodes[a], graph.nodes[b]);
  }
};

TEST(MergedNodes, AreConvolutionsWhoseKernelsLieInEachOther) {
  ConvolutionsOfOneImage b;
  b.add("pixel", 3, 1, {});
  b.add("padded", 5, 3, {{"padding", 1}});
  b.add("wider", 2, 5, {{"padding", 2}});
  b.add("shrinking", 2, 3, {});
  b.add("strided", 3, 1, {{"stride", 2}});
  b.add("biased", 3, 1, {}, true);
  b.add("grouped", 4, 1, {}, false, 2);
  EXPECT_TRUE(b.merge(0, 1));
  EXPECT_TRUE(b.merge(1, 2));
  for (std::size_t other = 3; other < b.graph.nodes.size(); ++other) {
    EXPECT_FALSE(b.merge(0, other)) << b.graph.nodes[other].name;
    EXPECT_FALSE(b.merge(1, other)) << b.graph.nodes[other].name;
  }
  const Graph merged =
      merged_nodes(b.graph, {&b.graph.nodes[0], &b.graph.nodes[1], &b.graph.nodes[2]});
  EXPECT_EQ(to_text(merged.tensors[1].shape), "[10, 4, 5, 5]");
  EXPECT_EQ(to_text(merged[merged.output].shape), "[batch, 10, 8, 8]");
  EXPECT_EQ(attribute(merged.nodes[0], "padding"), 2);
  EXPECT_EQ(merged.nodes[0].name, "pixel + padded + wider");
  // Zeros are multiplied too: 10 kernels of 25 instead of 3 of 1, 5 of 9 and 2 of 25.
  const auto flops = [](const Graph& graph, const Node& node) {
    return node.op->work({graph, node, {}, {}}, Pass::Forward).flops.value;
  };
  EXPECT_EQ(flops(merged, merged.nodes[0]), 2.0 * 64 * 4 * 250);
  EXPECT_EQ(flops(b.graph, b.graph.nodes[0]), 2.0 * 64 * 4 * 3);
}

TEST(MergedNodes, AreProductsOfOneInputWithWeightsOfTheirOwn) {
  GraphBuilder b;
  const TensorId x = b.hidden_input(6), other = b.hidden_input(6);
  b.linear("q", x, whole(4), true);
  b.linear("k", x, whole(2), true);
  b.linear("v", x, whole(2), false);
  b.linear("elsewhere", other, whole(4), true);
  b.linear("tied", x, whole(4), false, TensorSplit::None, "embedding/table");
  const auto merge = [&](std::size_t i, std::size_t j) {
    return may_merge(b.graph, b.graph.nodes[i], b.graph.nodes[j]);
  };
  EXPECT_TRUE(merge(0, 1));
  EXPECT_FALSE(merge(0, 2)) << "one has a bias";
  EXPECT_FALSE(merge(0, 3)) << "inputs differ";
  EXPECT_FALSE(merge(2, 4)) << "a table is another's weight";
  const Graph merged = merged_nodes(b.graph, {&b.graph.nodes[0], &b.graph.nodes[1]});
  ASSERT_EQ(merged.tensors.size(), 4U);
  EXPECT_EQ(to_text(merged.tensors[1].shape), "[6, 6]");
  EXPECT_EQ(to_text(merged.tensors[2].shape), "[6]");
  EXPECT_EQ(to_text(merged[merged.output].shape), "[sequence, batch, 6]");
}

}  // namespace
}  // namespace trainyard
