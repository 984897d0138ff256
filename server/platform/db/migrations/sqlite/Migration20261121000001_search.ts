import { Migration } from '@mikro-orm/migrations'

// The server stores lower-case words separated by spaces in these tables (server/search/terms.ts), so the simplest tokenizer is sufficient.
// `content=''` stores only the index. `detail` omits word positions, because no query searches for phrases.
export class Migration20261121000001_search extends Migration {
  override up() {
    this.addSql('create table `package_search_documents` (`id` integer primary key, `package_id` text not null unique references `packages` (`id`) on delete cascade, `name` text not null unique, `created_at` integer not null, `updated_at` integer not null);')
    this.addSql('create index `package_search_documents_updated` on `package_search_documents` (`updated_at`, `id`);')
    this.addSql('create index `package_search_documents_created` on `package_search_documents` (`created_at`, `id`);')
    this.addSql("create virtual table `package_search_brief` using fts5(`words`, `parts`, `description`, `topics`, content='', contentless_delete=1, detail=column, prefix='1 2 3', tokenize='ascii');")
    this.addSql("create virtual table `package_search_full` using fts5(`terms`, content='', contentless_delete=1, detail=none, prefix='1 2 3', tokenize='ascii');")
    this.addSql("create virtual table `package_search_trigrams` using fts5(`name`, content='', contentless_delete=1, detail=none, tokenize='trigram');")
    this.addSql('create trigger `package_search_forget` after delete on `package_search_documents` begin delete from `package_search_brief` where rowid = old.`id`; delete from `package_search_full` where rowid = old.`id`; delete from `package_search_trigrams` where rowid = old.`id`; end;')
  }
}
