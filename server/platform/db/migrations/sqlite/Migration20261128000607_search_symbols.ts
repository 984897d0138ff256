import { Migration } from '@mikro-orm/migrations'

// The declarations of the latest version of each package, and the index of their names (server/registry/search/symbols). The server fills both tables
// in the background when it starts.
export class Migration20261128000607_search_symbols extends Migration {
  override up() {
    this.addSql('create table `package_search_symbols` (`id` integer primary key, `document_id` integer not null references `package_search_documents` (`id`) on delete cascade, `source` text not null, `outline` blob not null);')
    this.addSql('create index `package_search_symbols_document` on `package_search_symbols` (`document_id`);')
    this.addSql("create virtual table `package_search_symbol_terms` using fts5(`terms`, content='', contentless_delete=1, detail=none, prefix='3 4', tokenize='ascii');")
    this.addSql('create trigger `package_search_symbols_forget` after delete on `package_search_symbols` begin delete from `package_search_symbol_terms` where rowid = old.`id`; end;')
  }
}
