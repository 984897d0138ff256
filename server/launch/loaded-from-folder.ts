/** Packages that stay folders of node_modules: native code, and what is found there by its path. The build holds all others. */
export const loadedFromFolder = ['bcrypt', 'better-sqlite3', 'sharp', 'tree-sitter-dart-orchard', 'web-tree-sitter']
