-- What neovim does in `test_lsp_editors.py`: opens the file that it was started with, and talks to the server as an editor
-- does. Prints one JSON object. The functions are those of neovim 0.7.

local seen = {}
local buffer = vim.api.nvim_get_current_buf()

local id = vim.lsp.start_client({
  name = 'words',
  cmd = { vim.env.LSP_SERVER },
  root_dir = vim.fn.getcwd(),
  on_exit = function(code) seen.exit = code end,
})
vim.lsp.buf_attach_client(buffer, id)
local client = nil
assert(vim.wait(10000, function()
  client = vim.lsp.get_client_by_id(id)
  return client ~= nil and client.initialized
end), 'the server did not initialize')

local function found() return vim.diagnostic.get(buffer) end
assert(vim.wait(10000, function() return #found() == 1 end), 'no diagnostics came')
seen.diagnostic = { found()[1].lnum, found()[1].col, found()[1].message }

-- A change that the server is told of piece by piece.
vim.api.nvim_buf_set_lines(buffer, 1, 2, false, { 'short' })
assert(vim.wait(10000, function() return #found() == 0 end), 'the diagnostics did not go')

local function ask(method, params)
  local answers = assert(vim.lsp.buf_request_sync(buffer, method, params, 10000))
  return assert(answers[id].result, vim.inspect(answers))
end

vim.api.nvim_win_set_cursor(0, { 1, 0 })
seen.hover = ask('textDocument/hover', vim.lsp.util.make_position_params()).contents
seen.labels = vim.tbl_map(function(item) return item.label end,
  ask('textDocument/completion', vim.lsp.util.make_position_params()))

vim.lsp.buf.rename('kůň')
assert(vim.wait(10000, function()
  return vim.api.nvim_buf_get_lines(buffer, 0, 1, false)[1]:find('horse') == nil
end), 'nothing was renamed')
seen.lines = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
seen.after = ask('textDocument/hover', vim.lsp.util.make_position_params()).contents

vim.lsp.stop_client(id)
assert(vim.wait(10000, function() return seen.exit ~= nil end), 'the server did not end')
io.stdout:write(vim.json.encode(seen) .. '\n')
