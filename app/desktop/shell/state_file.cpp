#include "app/desktop/shell/state_file.h"

#include <QAbstractButton>
#include <QAbstractItemView>
#include <QApplication>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPlainTextEdit>
#include <QTabBar>
#include <QTimer>

#include <cstdio>

#include "app/desktop/controls/canvas_widget.h"
#include "app/desktop/controls/page.h"
#include "app/desktop/controls/readings.h"
#include "app/desktop/shell/window.h"
#include "core/io/bytes/file_writer.h"
#include "core/io/json/json.h"

namespace trainyard {
namespace {

constexpr int kLookEvery = 40;    // milliseconds
constexpr int kMostListed = 200;  // of one list

std::string text_of(const QWidget& widget) {
  if (const auto* label = qobject_cast<const QLabel*>(&widget)) return label->text().toStdString();
  if (const auto* button = qobject_cast<const QAbstractButton*>(&widget))
    return button->text().toStdString();
  if (const auto* edit = qobject_cast<const QLineEdit*>(&widget)) return edit->text().toStdString();
  if (const auto* box = qobject_cast<const QComboBox*>(&widget))
    return box->currentText().toStdString();
  if (const auto* text = qobject_cast<const QPlainTextEdit*>(&widget))
    return text->toPlainText().toStdString();
  if (qobject_cast<const CanvasWidget*>(&widget) != nullptr)
    return widget.accessibleDescription().toStdString();
  return {};
}

Json place_of_rect(const QWidget& widget, const QRect& rect) {
  const QPoint at = widget.mapToGlobal(rect.topLeft());
  Json list = Json::list();
  for (const int n : {at.x(), at.y(), rect.width(), rect.height()}) list.push(n);
  return list;
}

// Returns whether the point is neither scrolled out nor clipped by a parent.
bool in_sight(const QWidget& widget, QPoint at) {
  for (const QWidget* each = &widget; each != nullptr; each = each->parentWidget()) {
    if (!each->rect().contains(at)) return false;
    if (each->isWindow()) break;
    at = each->mapToParent(at);
  }
  return true;
}

Json entry_of(const char* kind, const std::string& name, const QWidget& widget, const QRect& rect,
              const std::string& text = {}) {
  Json entry = Json::object();
  entry.set("kind", kind);
  entry.set("name", name);
  if (!text.empty()) entry.set("text", text);
  entry.set("rect", place_of_rect(widget, rect));
  entry.set("enabled", widget.isEnabled());
  entry.set("seen", in_sight(widget, rect.center()));
  return entry;
}

void add(Json& list, const char* kind, const std::string& name, const QWidget& widget,
         const QRect& rect, const std::string& text = {}) {
  list.push(entry_of(kind, name, widget, rect, text));
}

void add_rows(Json& list, const QAbstractItemView& view) {
  const QAbstractItemModel* model = view.model();
  if (model == nullptr) return;
  QModelIndex index = view.indexAt(QPoint(2, 2));
  if (!index.isValid()) index = model->index(0, 0, view.rootIndex());
  int seen = 0;
  for (int row = index.row(); row < model->rowCount(index.parent()) && seen < kMostListed; ++row) {
    const QModelIndex at = model->index(row, 0, index.parent());
    const QRect rect = view.visualRect(at);
    if (rect.top() > view.viewport()->height()) break;
    if (rect.isEmpty()) continue;
    Json entry = entry_of("row", at.data().toString().toStdString(), *view.viewport(), rect,
                          view.accessibleName().toStdString());
    Json cells = Json::list();
    for (int column = 1; column < model->columnCount(index.parent()); ++column)
      cells.push(at.siblingAtColumn(column).data().toString().toStdString());
    entry.set("cells", std::move(cells));
    list.push(std::move(entry));
    ++seen;
  }
}

void add_parts(Json& list, const QWidget& widget) {
  if (const auto* tabs = qobject_cast<const QTabBar*>(&widget))
    for (int i = 0; i < tabs->count(); ++i)
      if (tabs->isTabVisible(i))
        add(list, "tab", tabs->tabText(i).toStdString(), *tabs, tabs->tabRect(i));
  if (const auto* menu = qobject_cast<const QMenu*>(&widget))
    for (QAction* action : menu->actions())
      add(list, "item", action->text().toStdString(), *menu, menu->actionGeometry(action));
  if (const auto* view = qobject_cast<const QAbstractItemView*>(&widget)) add_rows(list, *view);
}

void add_widget(Json& list, const QWidget& widget) {
  const std::string text = text_of(widget);
  std::string name = widget.accessibleName().toStdString();
  if (name.empty()) name = text.empty() ? widget.objectName().toStdString() : text;
  if (!name.empty()) add(list, widget.metaObject()->className(), name, widget, widget.rect(), text);
  add_parts(list, widget);
}

Json widgets() {
  Json list = Json::list();
  for (const QWidget* top : QApplication::topLevelWidgets()) {
    if (!top->isVisible()) continue;
    add_widget(list, *top);
    for (const QWidget* widget : top->findChildren<QWidget*>())
      if (widget->isVisible() && !widget->isWindow()) add_widget(list, *widget);
  }
  return list;
}

Json fixes(const Session& session) {
  Json list = Json::list();
  if (!session.experiment() || session.stale()) return list;
  for (const Fix& fix : session.experiment()->result.verdict.fixes) {
    Json one = Json::object();
    one.set("set", fix.set);
    one.set("sentence", fix.sentence);
    list.push(std::move(one));
  }
  return list;
}

Json readings(const Session& session) {
  Json list = Json::list();
  if (session.experiment())
    for (const QString& text : reading_texts(session.experiment()->result))
      list.push(text.toStdString());
  return list;
}

Json named(const QWidget* widget) {
  if (widget == nullptr) return {};
  const QString name =
      widget->accessibleName().isEmpty() ? widget->objectName() : widget->accessibleName();
  return name.toStdString();
}

}  // namespace

std::string window_state(Window& window, qint64 frames) {
  const Session& session = window.session();
  const Project& project = window.document().project();
  Json state = Json::object();
  state.set("perspective", project.perspective);
  const Page* page = nullptr;
  for (const Page* each : window.pages())
    if (each->isVisible()) page = each;
  state.set("page", page == nullptr ? std::string("start") : project.perspective);
  state.set("tab", page == nullptr ? std::string() : page->tab().toStdString());
  state.set("title", window.windowTitle().toStdString());
  state.set("model", project.model);
  state.set("cluster", project.cluster);
  state.set("settled", window.settled());
  state.set("stale", session.stale());
  state.set("error", session.outcome().error);
  state.set("verdict",
            session.experiment() ? Json(session.experiment()->result.verdict.sentence) : Json());
  state.set("fits",
            session.experiment() ? Json(session.experiment()->result.verdict.fits) : Json());
  state.set("fixes", fixes(session));
  state.set("readings", readings(session));
  state.set("selection", static_cast<std::int64_t>(session.state().selected.tag));
  state.set("active", QApplication::activeWindow() != nullptr);
  state.set("focus", named(QApplication::focusWidget()));
  const QWidget* dialog = QApplication::activeModalWidget();
  state.set("dialog", dialog == nullptr ? std::string() : dialog->windowTitle().toStdString());
  state.set("frames", static_cast<std::int64_t>(frames));
  state.set("widgets", widgets());
  return write_json(state);
}

StateFile::StateFile(Window& window, QString file)
    : QObject(&window), window_(window), file_(std::move(file)) {
  for (CanvasWidget* canvas : window.findChildren<CanvasWidget*>())
    connect(canvas, &CanvasWidget::painted, this, [this] { ++frames_; });
  auto* timer = new QTimer(this);
  connect(timer, &QTimer::timeout, this, &StateFile::look);
  timer->start(kLookEvery);
}

void StateFile::look() {
  std::string now = window_state(window_, frames_);
  if (now == written_) return;
  try {
    write_file_atomically(file_.toStdString(), now);
    written_ = std::move(now);
  } catch (const Error& error) {
    if (!told_) std::fprintf(stderr, "%s\n", describe(error).c_str());
    told_ = true;
  }
}

}  // namespace trainyard
