import { Migration } from '@mikro-orm/migrations'

// Search documents for users who may see only some versions of a package. The server fills the table when it starts (server/search/rebuild.ts).
export class Migration20261124000002_search_excerpts extends Migration {
  override up() {
    this.addSql('create table `package_search_excerpts` (`id` integer primary key references `package_search_documents` (`id`) on delete cascade, `package_id` text not null unique, `created_at` integer not null, `updated_at` integer not null, `downloads` integer not null default 0, `score` integer not null default -1, `tags` text not null);')
    this.addSql("create virtual table `package_search_excerpts_brief` using fts5(`words`, `parts`, `description`, `topics`, `tags`, content='', contentless_delete=1, detail=column, prefix='1 2 3', tokenize='ascii');")
    this.addSql("create virtual table `package_search_excerpts_full` using fts5(`terms`, content='', contentless_delete=1, detail=none, prefix='1 2 3', tokenize='ascii');")
    this.addSql('create trigger `package_search_excerpts_forget` after delete on `package_search_excerpts` begin delete from `package_search_excerpts_brief` where rowid = old.`id`; delete from `package_search_excerpts_full` where rowid = old.`id`; end;')
  }
}
