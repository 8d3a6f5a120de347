#include "app/desktop/design_page.h"

#include <QLabel>
#include <QSplitter>
#include <QVBoxLayout>

#include "app/desktop/canvas_widget.h"
#include "app/desktop/cluster_form.h"
#include "app/desktop/outline.h"
#include "app/desktop/split_scene.h"
#include "app/desktop/theme.h"
#include "app/desktop/view_scene.h"
#include "app/desktop/widgets.h"
#include "visualizers/viewmodel/format.h"

namespace trainyard {

DesignPage::DesignPage(Document& document, Session& session, QWidget* parent)
    : Page(parent), document_(document), session_(session) {
  setObjectName("page");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  auto* bar = new Header("Model");
  model_ = make_label("", 12, QFont::DemiBold);
  parameters_ = make_label("", 12, QFont::Normal, "second");
  bar->row()->addWidget(model_);
  bar->row()->addWidget(parameters_);
  column->addWidget(bar);
  split_ =
      new CanvasWidget("Layers of each stage", std::make_unique<SplitScene>(document_, session_));
  split_->setMinimumHeight(70);
  layers_ = new CanvasWidget("Time of each layer", std::make_unique<ViewScene>(session_, "layers"));
  cluster_ =
      new CanvasWidget("Memory of each GPU", std::make_unique<ViewScene>(session_, "cluster"));
  layers_->setMinimumHeight(90);
  cluster_->setMinimumHeight(120);
  auto* lower = new QWidget;
  auto* lower_column = new QVBoxLayout(lower);
  lower_column->setContentsMargins(0, 0, 0, 0);
  lower_column->setSpacing(0);
  auto* cluster_bar = new Header("Cluster");
  cluster_name_ = make_label("", 11, QFont::Normal, "second");
  cluster_name_->setTextFormat(Qt::RichText);
  cluster_bar->row()->addWidget(cluster_name_);
  lower_column->addWidget(cluster_bar);
  auto* form = new ClusterForm(document_);
  connect(form, &ClusterForm::described, cluster_name_, &QLabel::setText);
  lower_column->addWidget(form);
  lower_column->addWidget(cluster_, 1);
  auto* split = new QSplitter(Qt::Vertical);
  split->setHandleWidth(1);
  split->setChildrenCollapsible(false);
  split->addWidget(new Outline(session_));
  split->addWidget(split_);
  split->addWidget(layers_);
  split->addWidget(lower);
  split->setSizes({340, 72, 122, 312});
  split->setStretchFactor(0, 1);
  column->addWidget(split, 1);
  connect(&session_, &Session::experiment_changed, this, &DesignPage::refresh);
  connect(&document_, &Document::changed, this, &DesignPage::refresh);
  refresh();
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
  model_->setText(QString::fromStdString(project.model).section('/', -1));
  if (session_.experiment()) {
    const Result& result = session_.experiment()->result;
    QString text =
        QString::fromStdString(format_large(static_cast<double>(result.parameters))) + " params";
    if (result.active_parameters != result.parameters)
      text += ", " +
              QString::fromStdString(format_large(static_cast<double>(result.active_parameters))) +
              " active";
    parameters_->setText(text);
  }
  split_->refresh();
  layers_->refresh();
  cluster_->refresh();
}

}  // namespace trainyard
