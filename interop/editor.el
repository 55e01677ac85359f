;;; What emacs does in `test_lsp_editors.py`: opens the file, and talks to the server as an editor does. Prints one JSON
;;; object. The functions are those of eglot 1.9.  -*- lexical-binding: t -*-

(require 'eglot)
(require 'json)

(setq eglot-sync-connect 10
      eglot-confirm-server-initiated-edits nil
      eglot-send-changes-idle-time 0
      project-find-functions nil)
(add-to-list 'eglot-server-programs (cons 'text-mode (list (getenv "LSP_SERVER"))))

(defun wait (what condition)
  (let ((end (time-add nil 10)))
    (while (not (funcall condition))
      (when (time-less-p end nil) (error "%s" what))
      (accept-process-output nil 0.05))))

(find-file "words.txt")
(text-mode)
(let* ((server (apply #'eglot--connect (eglot--guess-contact)))
       (process (jsonrpc--process server))
       (first nil) (hover nil) (labels nil) (after nil))
  (flymake-start)
  (wait "no diagnostics came" (lambda () (flymake-diagnostics)))
  (setq first (car (flymake-diagnostics)))
  (setq first (save-excursion
                (goto-char (flymake-diagnostic-beg first))
                (vector (1- (line-number-at-pos)) (current-column)
                        ;; Behind the source, of which there is none.
                        (string-remove-prefix ": " (flymake-diagnostic-text first)))))
  ;; A change that the server is told of piece by piece.
  (goto-char (point-min))
  (forward-line 1)
  (delete-region (point) (line-end-position))
  (insert "short")
  (eglot--signal-textDocument/didChange)
  (wait "the diagnostics did not go" (lambda () (flymake-start) (null (flymake-diagnostics))))
  (goto-char (point-min))
  (let ((ask (lambda (method) (jsonrpc-request server method (eglot--TextDocumentPositionParams)))))
    (setq hover (plist-get (funcall ask :textDocument/hover) :contents))
    (let ((table (nth 2 (eglot-completion-at-point))))
      (setq labels (mapcar #'substring-no-properties (all-completions "" table))))
    (eglot-rename "kůň")
    (eglot--signal-textDocument/didChange)
    (setq after (plist-get (funcall ask :textDocument/hover) :contents)))
  (let ((lines (split-string (buffer-string) "\n" t)))
    (set-buffer-modified-p nil)
    ;; As `eglot-shutdown' does it, which then kills the server before it can end by itself.
    (setf (eglot--shutdown-requested server) t)
    (jsonrpc-request server :shutdown nil :timeout 10)
    (jsonrpc-notify server :exit nil)
    (wait "the server did not end" (lambda () (not (process-live-p process))))
    (princ (json-encode (list :diagnostic first :hover hover :labels (sort labels #'string<)
                              :lines (vconcat lines) :after after
                              :exit (process-exit-status process))))
    (terpri)))
