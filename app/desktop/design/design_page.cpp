#include "app/desktop/design/design_page.h"

#include <QLabel>
#include <QSplitter>
#include <QStackedWidget>
#include <QVBoxLayout>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/outline.h"
#include "app/desktop/controls/theme.h"
#include "app/desktop/controls/widgets.h"
#include "app/desktop/design/cluster_form.h"
#include "app/desktop/design/cluster_numbers.h"
#include "app/desktop/design/model_builder.h"
#include "app/desktop/design/model_panel.h"
#include "app/desktop/scene/split_scene.h"
#include "app/desktop/scene/view_scene.h"
#include "core/io/json/inline_document.h"
#include "core/model/zoo/presets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

DesignPage::DesignPage(Document& document, Session& session, QWidget* parent)
    : Page(parent),
      document_(document),
      session_(session),
      builder_(new ModelBuilder(document, this)),
      panel_(new ModelPanel(*builder_, session)),
      numbers_(new ClusterNumbers(document)) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  split_ =
      new CanvasWidget("Layers of each stage", std::make_unique<SplitScene>(document_, session_));
  split_->setMinimumHeight(70);
  layers_ = new CanvasWidget("Time of each layer", std::make_unique<ViewScene>(session_, "layers"));
  cluster_ =
      new CanvasWidget("Memory of each GPU", std::make_unique<ViewScene>(session_, "cluster"));
  layers_->setMinimumHeight(90);
  cluster_->setMinimumHeight(120);
  auto* split = new QSplitter(Qt::Vertical);
  split->setHandleWidth(1);
  split->setChildrenCollapsible(false);
  split->addWidget(make_model_side());
  split->addWidget(split_);
  split->addWidget(layers_);
  split->addWidget(make_cluster_side());
  split->setSizes({368, 72, 122, 312});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);
  connect(&session_, &Session::experiment_changed, this, &DesignPage::refresh);
  connect(&document_, &Document::changed, this, &DesignPage::refresh);
  refresh();
}

QWidget* DesignPage::make_model_side() {
  auto* side = new QWidget;
  auto* column = new QVBoxLayout(side);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("");
  auto* parts = new Segment("What is shown of the model", {"Model", "Stages"});
  parts->set_current(0);
  bar->row()->insertWidget(0, parts);
  model_ = make_label("", 12, QFont::DemiBold);
  parameters_ = make_label("", 12, QFont::Normal, "second");
  start_ = new Field("Start from a preset");
  start_->addItem("Start from…");
  for (const Preset& preset : presets())
    start_->addItem(
        QString::fromUtf8(preset.title.data(), static_cast<qsizetype>(preset.title.size())),
        QString::fromUtf8(preset.name.data(), static_cast<qsizetype>(preset.name.size())));
  start_->setMinimumWidth(150);
  bar->row()->addWidget(model_);
  bar->row()->addWidget(parameters_);
  bar->row()->addWidget(start_);
  column->addWidget(bar);
  auto* stack = new QStackedWidget;
  stack->addWidget(panel_);
  stack->addWidget(new Outline(session_));
  column->addWidget(stack, 1);
  connect(parts, &Segment::chosen, stack, &QStackedWidget::setCurrentIndex);
  connect(start_, &QComboBox::activated, this, [this](int index) {
    const QString words = start_->itemData(index).toString();
    start_->setCurrentIndex(0);
    if (!words.isEmpty()) document_.set_model(words);
  });
  return side;
}

QWidget* DesignPage::make_cluster_side() {
  auto* lower = new QWidget;
  auto* column = new QVBoxLayout(lower);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Cluster");
  cluster_name_ = make_label("", 11, QFont::Normal, "second");
  cluster_name_->setTextFormat(Qt::RichText);
  bar->row()->addWidget(cluster_name_);
  column->addWidget(bar);
  auto* form = new ClusterForm(document_, *numbers_);
  connect(form, &ClusterForm::described, cluster_name_, &QLabel::setText);
  column->addWidget(form);
  auto* stack = new QStackedWidget;
  stack->addWidget(cluster_);
  stack->addWidget(numbers_);
  connect(form, &ClusterForm::numbers_wanted, stack,
          [stack](bool on) { stack->setCurrentIndex(on ? 1 : 0); });
  column->addWidget(stack, 1);
  return lower;
}

std::optional<Drawing> DesignPage::picture() const {
  if (session_.data() == nullptr) return std::nullopt;
  const View& layers = view("layers");
  return layers.draw(*session_.data(), layers.size, session_.state());
}

std::optional<DataTable> DesignPage::table() const {
  if (session_.data() == nullptr) return std::nullopt;
  return view("layers").table(*session_.data(), session_.state());
}

void DesignPage::refresh() {
  const Project& project = document_.project();
  model_->setText(QString::fromStdString(word_title(project.model)));
  if (session_.experiment()) {
    const Result& result = session_.experiment()->result;
    QString text =
        QString::fromStdString(format_large(static_cast<double>(result.parameters))) + " params";
    if (result.active_parameters != result.parameters)
      text += ", " +
              QString::fromStdString(format_large(static_cast<double>(result.active_parameters))) +
              " active";
    if (result.trained_parameters)
      text +=
          ", " +
          QString::fromStdString(format_large(static_cast<double>(*result.trained_parameters))) +
          " trained";
    parameters_->setText(text);
  }
  split_->refresh();
  layers_->refresh();
  cluster_->refresh();
}

}  // namespace trainyard
