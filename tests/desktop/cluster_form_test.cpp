// Tests the form of a cluster: choosing every wiring of its network and of its nodes, with sizes.
#include "app/desktop/design/cluster_form.h"

#include <gtest/gtest.h>

#include <QLabel>
#include <QLineEdit>
#include <QToolButton>

#include <algorithm>
#include <memory>
#include <string>

#include "app/desktop/controls/text.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/cluster_numbers.h"
#include "tests/desktop/support.h"

namespace trainyard {
namespace {

struct ClusterForms {
  Document document;
  ClusterNumbers numbers{document};
  std::unique_ptr<ClusterForm> form;

  explicit ClusterForms(const char* cluster) {
    document.set_automatic(false);
    document.set_cluster(cluster);
    form = std::make_unique<ClusterForm>(document, numbers);
    form->show();
  }
  const std::string& cluster() const { return document.project().cluster; }
  Field* field(const char* name) const { return named<Field>(*form, name); }
  QLineEdit* sizes() const { return named<QLineEdit>(*form, "Sizes of the network"); }
  void choose(const char* name, const QString& word) const {
    Field* const chosen = field(name);
    const int at = chosen->findText(word);
    ASSERT_GE(at, 0) << word.toStdString();
    chosen->setCurrentIndex(at);
    Q_EMIT chosen->activated(at);
    Q_EMIT chosen->textActivated(word);
  }
  void type_sizes(const QString& text) const {
    sizes()->setText(text);
    Q_EMIT sizes()->editingFinished();
  }
  bool says(const QString& words) const {
    const auto labels = form->findChildren<QLabel*>();
    return std::any_of(labels.begin(), labels.end(),
                       [&](const QLabel* label) { return label->text().contains(words); });
  }
};

TEST(ClusterForm, EveryNetworkCanBeChosenWithItsSizes) {
  const ClusterForms forms("h100-sxm:64,oversubscription=2,price=2USD/h");
  EXPECT_EQ(forms.field("Network")->currentText(), "fat-tree");
  EXPECT_FALSE(forms.sizes()->isVisible());
  forms.choose("Network", "torus");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h,torus=4x2");
  EXPECT_EQ(forms.field("Network")->currentText(), "torus");
  EXPECT_TRUE(forms.sizes()->isVisible());
  EXPECT_EQ(forms.sizes()->text(), "4x2");
  forms.type_sizes("2x2x2");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h,torus=2x2x2");
  forms.choose("Network", "dragonfly");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h,dragonfly=4x4x3");
  forms.type_sizes("4x4");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h,dragonfly=4x4x3") << "was refused";
  EXPECT_TRUE(forms.says("expected groups, routers of each and links of each router"));
  EXPECT_EQ(forms.sizes()->text(), "4x4x3");
  forms.choose("Network", "rail");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h,rail");
  EXPECT_FALSE(forms.sizes()->isVisible());
  forms.choose("Network", "fat-tree");
  EXPECT_EQ(forms.cluster(), "h100-sxm:64,price=2USD/h");
}

TEST(ClusterForm, DevicesOfANodeCanBeACubeMesh) {
  const ClusterForms forms("v100-sxm2-32:16");
  EXPECT_EQ(forms.field("Wiring inside a node")->currentText(), "switch");
  forms.choose("Wiring inside a node", "cube mesh, 6 links");
  EXPECT_EQ(forms.cluster(), "v100-sxm2-32:16,cube-mesh=6");
  EXPECT_EQ(forms.field("Wiring inside a node")->currentText(), "cube mesh, 6 links");
  forms.choose("Wiring inside a node", "switch");
  EXPECT_EQ(forms.cluster(), "v100-sxm2-32:16");
  const ClusterForms torus("tpu-v4:64");
  EXPECT_FALSE(torus.field("Wiring inside a node")->isVisible());
}

// Sizes of a wiring follow the number of nodes.
TEST(ClusterForm, AnotherNumberOfNodesKeepsTheWiring) {
  const ClusterForms forms("h100-sxm:64,torus=4x2");
  named<QToolButton>(*forms.form, "Nodes, one step up")->click();
  EXPECT_EQ(forms.cluster(), "h100-sxm:128,torus=4x4");
  const ClusterForms meshed("v100-sxm2-32:16,cube-mesh=6,dragonfly=2x4x1");
  named<QToolButton>(*meshed.form, "Devices per node, one step down")->click();
  EXPECT_EQ(meshed.cluster().find("cube-mesh"), std::string::npos);
  EXPECT_NE(meshed.cluster().find("dragonfly=2x4x1"), std::string::npos) << meshed.cluster();
}

}  // namespace
}  // namespace trainyard
