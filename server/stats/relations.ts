/** A table or an index. A table's size has what it keeps beside its rows, such as long texts. */
export type Relation = {
  name: string
  kind: 'table' | 'index'
  sizeBytes: number
  /** Rows of a table, entries of an index; null where nobody counted. */
  rows: number | null
}

/** What takes long to find out; null for what took longer than it may. */
export type Sizes = {
  /** Bytes of all archives that versions name. */
  archiveBytes: number | null
  /** Bytes of the documentation of all versions. */
  docsBytes: number | null
  relations: Relation[] | null
}

/** Sizes, and the moment that they are of; null when there are none yet. */
export type Measurement = Sizes & { measuredAt: Date | null }
