get() { ruby -rnet/http -e "$ruby" "$1"; }
post() { ruby -rnet/http -e "$ruby" "$1" "$2"; }

ruby='url = URI(ARGV[0])
kind = ARGV[1] ? Net::HTTP::Post : Net::HTTP::Get
request = kind.new(url, "Metadata" => "true")
request.body = ARGV[1] if ARGV[1]
response = Net::HTTP.start(url.host, url.port, nil) { |http| http.request(request) }
abort response.body unless response.code == "200"
print response.body'
