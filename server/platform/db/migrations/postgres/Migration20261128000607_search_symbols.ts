import { Migration } from '@mikro-orm/migrations'

// The declarations of the latest version of each package, and the index of their names (server/registry/search/symbols). The server fills both tables
// in the background when it starts.
export class Migration20261128000607_search_symbols extends Migration {
  override up() {
    this.addSql('create table "package_search_symbols" ("id" bigint primary key, "document_id" bigint not null references "package_search_documents" ("id") on delete cascade, "source" text not null, "outline" bytea not null);')
    this.addSql('create index "package_search_symbols_document" on "package_search_symbols" ("document_id");')
    this.addSql('create table "package_search_symbol_terms" ("id" bigint primary key references "package_search_symbols" ("id") on delete cascade, "terms" tsvector not null) with (toast_tuple_target = 128);')
    this.addSql('create index "package_search_symbol_terms_index" on "package_search_symbol_terms" using gin ("terms") with (fastupdate = off);')
  }
}
