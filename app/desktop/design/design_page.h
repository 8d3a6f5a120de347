// A DesignPage is the centre of the Design perspective: the model for editing or with its predicted
// stages, its layers as a chart, and the cluster.
#pragma once

#include "app/desktop/controls/page.h"
#include "app/desktop/session/document.h"
#include "app/desktop/session/session.h"

class QLabel;

namespace trainyard {

class CanvasWidget;
class ClusterNumbers;
class Field;
class ModelBuilder;
class ModelPanel;

class DesignPage : public Page {
  Q_OBJECT

 public:
  DesignPage(Document&, Session&, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override { return {split_, layers_, cluster_}; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;
  ModelBuilder& builder() { return *builder_; }
  ModelPanel& model_panel() { return *panel_; }
  ClusterNumbers& numbers() { return *numbers_; }

 private:
  QWidget* make_model_side();
  QWidget* make_cluster_side();
  void refresh();
  Document& document_;
  Session& session_;
  ModelBuilder* builder_;
  ModelPanel* panel_;
  ClusterNumbers* numbers_;
  Field* start_;
  QLabel *model_, *parameters_, *cluster_name_;
  CanvasWidget *split_, *layers_, *cluster_;
};

}  // namespace trainyard
