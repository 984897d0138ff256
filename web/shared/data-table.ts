/** A column of a data table; its cells are the slot of the same name. */
export interface Column<Key extends string> {
  key: Key
  label: string
  /** For screen readers only, as for a column of buttons. */
  hiddenLabel?: boolean
  /** Names its row. */
  rowHeader?: boolean
  sortable?: boolean
  class?: string
}
