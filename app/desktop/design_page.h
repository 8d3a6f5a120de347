// The centre of the Design perspective: the model's outline, its layers as a chart, and the
// cluster.
#pragma once

#include "app/desktop/document.h"
#include "app/desktop/page.h"
#include "app/desktop/session.h"

class QLabel;

namespace trainyard {

class CanvasWidget;

class DesignPage : public Page {
  Q_OBJECT

 public:
  DesignPage(Document&, Session&, QWidget* parent = nullptr);
  QList<CanvasWidget*> canvases() const override { return {split_, layers_, cluster_}; }
  std::optional<Drawing> picture() const override;
  std::optional<DataTable> table() const override;

 private:
  void refresh();
  Document& document_;
  Session& session_;
  QLabel *model_, *parameters_, *cluster_name_;
  CanvasWidget *split_, *layers_, *cluster_;
};

}  // namespace trainyard
