// A PageTab is a window that shows one page, with what its tests do on it as a user would.
#pragma once

#include <gtest/gtest.h>

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <memory>
#include <optional>
#include <string>

#include "app/workspace/scenario/request.h"
#include "tests/desktop/support.h"

namespace trainyard {

template <class Shown>
struct PageTab {
  std::unique_ptr<Window> window = std::make_unique<Window>();
  Shown* page;

  /// Shows the tab of that perspective, with `open` opened first if it is given, and settled.
  PageTab(const char* perspective, const char* tab,
          const std::optional<Request>& open = std::nullopt) {
    window->resize(1400, 900);
    window->show();
    if (open) window->start_with(*open);
    window->document().show_perspective(perspective, tab);
    page = window->template findChild<Shown*>();
    happens([&] { return window->settled(); });
  }
  /// Types over what the field has.
  void type(const char* name, const QString& text) const {
    auto* field = named<QLineEdit>(*page, name);
    field->selectAll();
    field->insert(text);
    Q_EMIT field->textEdited(field->text());
  }
  QString said(const QString& label) const { return named<QLabel>(*page, label)->text(); }
  QAction* action(const char* id) const { return window->actions_of()[id]; }
  QPushButton* copy() const {
    return named<QPushButton>(*page, "Copy the command line of the measurement");
  }
  /// Presses copy() and returns what it copies.
  std::string copied() const {
    copy()->click();
    return QApplication::clipboard()->text().toStdString();
  }
};

}  // namespace trainyard
